"""A plugin that implements every hook and answers none: it notes what the kernel asked, and when."""

from __future__ import annotations

import inspect
import keyword
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from deepagents_kernel import hookspecs
from deepagents_kernel.assembly.context import StackContext
from deepagents_kernel.assembly.draft import StackDraft
from deepagents_kernel.assembly.plan import StackPlan
from deepagents_kernel.errors import PluginError
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.plugins.registration import PREFIX

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping


@frozen(eq=False)
class HookCall:
    """One call of a hook.

    Attributes:
        hook: its name.
        arguments: everything that it was called with, by name.
        stack: path of the stack that it was about; empty if no argument tells.
    """

    hook: str
    arguments: Mapping[str, Any] = field(repr=lambda given: f"<{', '.join(given)}>")
    stack: str = ""


class HookRecorder:
    """A plugin for every hook of the kernel that notes each call and answers nothing.

    What an agent is made of stays as it is. The recorder is asked like any third party: of a ``firstresult``
    hook it sees nothing when a plugin before it answered.

    It can be in one kernel or in several, and is told of all of them.

        recorder = HookRecorder()
        kernel = Kernel([("bundle.recorder", recorder)])
        assert recorder.names()[-1] == "deepagents_configure"

    Args:
        extra: hooks that other plugins declare, with the names of their arguments. A hook that no plugin of
            the kernel declares is refused when the kernel is made.

    Attributes:
        PLUGIN: names it ``bundle.hook-recorder``, unless it is given under another name.
    """

    PLUGIN = PluginInfo(summary="Notes which hooks are called.", name="bundle.hook-recorder")

    def __init__(self, extra: Mapping[str, Iterable[str] | str] | None = None) -> None:
        self._calls: list[HookCall] = []
        for hook, arguments in {**kernel_hooks(), **(extra or {})}.items():
            names = (arguments,) if isinstance(arguments, str) else tuple(arguments)
            setattr(self, hook, _implementation(hook, names, self._calls.append))

    def __repr__(self) -> str:
        return f"<HookRecorder, {len(self._calls)} calls>"

    def names(self) -> list[str]:
        """Names of the hooks that were called, in order, one for each call."""
        return [call.hook for call in self._calls]

    def calls(self, hook: str | None = None, *, stack: str | None = None) -> list[HookCall]:
        """The calls so far, in order.

        Args:
            hook: only those of this hook.
            stack: only those that were about the stack at this path.
        """
        return [
            call
            for call in self._calls
            if (hook is None or call.hook == hook) and (stack is None or call.stack == stack)
        ]

    def clear(self) -> None:
        """Forget the calls so far."""
        self._calls.clear()


def kernel_hooks() -> dict[str, tuple[str, ...]]:
    """Every hook that the kernel declares, with the names of its arguments, in the order of its phases."""
    return {
        name: tuple(inspect.signature(function).parameters)
        for name, function in vars(hookspecs).items()
        if name.startswith(PREFIX)
    }


def _implementation(
    hook: str, arguments: tuple[str, ...], note: Callable[[HookCall], None]
) -> Callable[..., None]:
    for name in arguments:
        if not name.isidentifier() or keyword.iskeyword(name):
            raise PluginError(HookRecorder.PLUGIN.name, f"{name!r} can't be an argument of the hook {hook}")

    def noted(values: tuple[Any, ...]) -> None:
        given = dict(zip(arguments, values, strict=True))
        note(HookCall(hook, MappingProxyType(given), _stack(values)))

    # The names of the arguments are read from the function's code: they have to stand in it.
    listed = "".join(f"{name}, " for name in arguments)
    function = eval(f"lambda {listed.rstrip(', ')}: __noted(({listed}))", {"__noted": noted})  # noqa: S307
    function.__name__ = function.__qualname__ = hook
    marked: Callable[..., None] = hookspecs.hookimpl(function)
    return marked


def _stack(values: Iterable[Any]) -> str:
    for value in values:
        if isinstance(value, StackContext | StackPlan):
            return value.path
        if isinstance(value, StackDraft):
            return value.context.path
    return ""
