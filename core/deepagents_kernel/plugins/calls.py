"""Call hooks implementation by implementation, so that every record and every error knows its plugin.

pluggy's own call merges the results and loses who gave them, stops half-way when one raises without saying
which, and hands out generators that raise later. What it is used for here is what it is good at: checking
and storing implementations.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, KeysView, Mapping, ValuesView
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.assembly.context import Contribution
from deepagents_kernel.assembly.problems import problems_of
from deepagents_kernel.errors import (
    DeepAgentsError,
    HookError,
    PlanError,
    PluginError,
    error_text,
    nearest_hint,
)
from deepagents_kernel.log import get_logger
from deepagents_kernel.plugins.registration import hook_names

if TYPE_CHECKING:
    import pluggy

    from deepagents_kernel.errors import Problem
    from deepagents_kernel.plugins.info import PluginRecord
    from deepagents_kernel.plugins.registration import Registered

_log = get_logger(__name__)

# What counts as several records. Anything else iterable is one record: a mapping, a string, and above all a
# pydantic model (every LangChain tool is one), whose iteration yields its fields.
_MANY = (list, tuple, set, frozenset, Iterator, KeysView, ValuesView)


@functools.lru_cache(maxsize=256)
def _is_many(cls: type) -> bool:
    return issubclass(cls, _MANY)


@frozen
class _Implementation:
    plugin: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]


_NONE: Mapping[str, Any] = MappingProxyType({})


class HookCalls:
    """The hooks of one kernel, callable with provenance."""

    def __init__(self, registered: Registered, records: Mapping[str, PluginRecord]) -> None:
        self._registered = registered
        self._manager = registered.manager
        self._records = records
        self._cache: dict[str, tuple[_Implementation, ...]] = {}
        self._first: dict[str, bool] = {}

    # Arguments come as one mapping, so that a hook may call them what it likes.

    def __call__(
        self, hook: str, arguments: Mapping[str, Any] = _NONE, *, at: str = ""
    ) -> tuple[Contribution, ...]:
        """Call any hook by its kind: the first answer of a ``firstresult`` hook, else every record."""
        if not self._implementations(hook):
            return ()
        if self._first_only(hook):
            answer = self.first(hook, arguments, at=at)
            return () if answer is None else (answer,)
        return self.collect(hook, arguments, at=at)

    def collect(
        self,
        hook: str,
        arguments: Mapping[str, Any] = _NONE,
        *,
        at: str = "",
        problems: list[Problem] | None = None,
    ) -> tuple[Contribution, ...]:
        """Every record of every implementation, in plugin order.

        Args:
            hook: its name.
            arguments: what the specification of the hook names.
            at: path of the stack being planned.
            problems: where the problems of a ``PlanError`` go, after which the next plugin is asked; without
                it the error is raised.
        """
        found: list[Contribution] = []
        for implementation in self._implementations(hook):
            try:
                values = self._call(implementation, hook, at, arguments, records=True)
            except PlanError as error:
                if problems is None:
                    raise
                problems += error.problems
            else:
                found += [Contribution(implementation.plugin, value) for value in values]
        return tuple(found)

    def first(self, hook: str, arguments: Mapping[str, Any] = _NONE, *, at: str = "") -> Contribution | None:
        """The first answer that is not ``None``; third parties are asked before built-ins."""
        for implementation in self._implementations(hook):
            value = self._call(implementation, hook, at, arguments)
            if value is not None:
                return Contribution(implementation.plugin, value)
        return None

    def observe(
        self,
        hook: str,
        arguments: Mapping[str, Any] = _NONE,
        *,
        newest_first: bool = False,
        only: Container[str] | None = None,
    ) -> None:
        """Tell every implementation; one that raises is logged, and the next one is told.

        Args:
            hook: its name.
            arguments: what the specification of the hook names.
            newest_first: tell the last plugin first.
            only: names of the plugins to tell; ``None`` for all.
        """
        implementations = self._implementations(hook)
        for implementation in reversed(implementations) if newest_first else implementations:
            if only is not None and implementation.plugin not in only:
                continue
            try:
                self._call(implementation, hook, "", arguments, records=True)
            except Exception as error:
                _log.exception(
                    "hook_failed", plugin=implementation.plugin, hook=hook, error=error_text(error)
                )

    def each(self, hook: str) -> Iterator[tuple[str, Callable[..., tuple[Any, ...]]]]:
        """Plugin name and guarded call of each implementation, where each is looked at by itself."""
        for implementation in self._implementations(hook):

            def call(
                arguments: Mapping[str, Any] = _NONE,
                *,
                at: str = "",
                _implementation: _Implementation = implementation,
            ) -> tuple[Any, ...]:
                found: tuple[Any, ...] = self._call(_implementation, hook, at, arguments, records=True)
                return found

            yield implementation.plugin, call

    def declared(self) -> list[str]:
        """Every hook that the kernel or a plugin declares, sorted."""
        return hook_names(self._manager)

    def declared_by(self) -> Mapping[str, tuple[str, ...]]:
        """Plugin name to the hooks that it declares."""
        return self._registered.declared

    def inert(self) -> Mapping[str, tuple[str, ...]]:
        """Plugin name to the hooks that it answers and that no plugin of this kernel declares."""
        return self._registered.inert

    def providers(self, hook: str) -> tuple[str, ...]:
        """Names of the plugins that implement a hook, in the order in which they are asked."""
        return tuple(implementation.plugin for implementation in self._implementations(hook))

    def _caller(self, hook: str) -> pluggy.HookCaller:
        caller: pluggy.HookCaller | None = getattr(self._manager.hook, hook, None)
        if caller is None or not caller.has_spec():
            known = self.declared()
            raise PluginError("kernel", f"no plugin declares a hook {hook!r}", nearest_hint(hook, known))
        return caller

    def _first_only(self, hook: str) -> bool:
        known = self._first.get(hook)
        if known is None:
            specification = self._caller(hook).spec
            known = self._first[hook] = bool(specification and specification.opts.get("firstresult"))
        return known

    def _implementations(self, hook: str) -> tuple[_Implementation, ...]:
        cached = self._cache.get(hook)
        if cached is None:
            cached = self._cache[hook] = self._sorted(hook)
        return cached

    def _sorted(self, hook: str) -> tuple[_Implementation, ...]:
        resolve = self._first_only(hook)

        def key(implementation: pluggy.HookImpl) -> tuple[int, bool, tuple[int, str]]:
            record = self._records[implementation.plugin_name]
            step = -1 if implementation.tryfirst else 1 if implementation.trylast else 0
            # Where one answer wins, whoever is not built in must be able to win.
            return step, resolve and record.builtin, record.order

        found = sorted(self._caller(hook).get_hookimpls(), key=key)
        return tuple(_Implementation(item.plugin_name, item.function, tuple(item.argnames)) for item in found)

    def _call(
        self,
        implementation: _Implementation,
        hook: str,
        at: str,
        arguments: Mapping[str, Any],
        *,
        records: bool = False,
    ) -> Any:
        """The answer of an implementation, as it is or as a tuple of records; whatever it raises is named."""
        try:
            values = [arguments[name] for name in implementation.arguments]
        except KeyError as error:
            msg = f"the caller of the hook gave no {error.args[0]!r}"
            raise HookError(implementation.plugin, hook, at, msg) from None
        try:
            answer = implementation.function(*values)
            # A generator raises when it is consumed, so it is consumed in here.
            return _records(answer) if records else answer
        except PlanError as error:
            # A new error, not the plugin's own object: its text names the place, and it may be raised again.
            raise PlanError.of(problems_of(error, at, implementation.plugin)) from error
        except DeepAgentsError as error:
            where = f"hook {hook}, stack {at!r}" if at else f"hook {hook}"
            error.add_note(f"raised by plugin {implementation.plugin}, {where}")
            raise
        except Exception as error:
            reason = error_text(error)
            raise HookError(implementation.plugin, hook, at, reason) from error


def _records(answer: Any) -> tuple[Any, ...]:
    if answer is None:
        return ()
    if not _is_many(answer.__class__):
        return (answer,)
    return tuple(value for value in answer if value is not None)
