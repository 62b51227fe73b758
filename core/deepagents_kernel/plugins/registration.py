"""Put plugins into a pluggy manager, in phases, so that the order of loading never matters.

First every plugin declares its hook specifications, then each is checked against the complete set, then all
are registered, in an order that depends on names alone. pluggy checks less than a plugin author needs: a
class registers without complaint and fails when called, a misspelt hook is silent, an unmarked function is
ignored. Those are refused here, with the nearest name.
"""

from __future__ import annotations

import inspect
from contextlib import nullcontext
from types import ModuleType
from typing import TYPE_CHECKING, Any, NoReturn

import pluggy
from attrs import field, frozen

from deepagents_kernel import hookspecs
from deepagents_kernel.errors import PluginError, error_text, nearest_hint
from deepagents_kernel.plugins.info import BAD_NAME_HINT, HOOK_API, PLUGIN_NAME, PluginInfo, PluginRecord

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from contextlib import AbstractContextManager

PREFIX = "deepagents_"


def plugin_info(name: str, plugin: object) -> PluginInfo:
    """The ``PLUGIN`` of a plugin; an empty one if it has none.

    Raises:
        PluginError: ``PLUGIN`` is something else, or was written for another hook contract.
    """
    info = getattr(plugin, "PLUGIN", None)
    if info is None:
        return PluginInfo()
    if not isinstance(info, PluginInfo):
        raise PluginError(name, f"PLUGIN must be a PluginInfo, not {type(info).__name__}")
    if info.hook_api != HOOK_API:
        raise PluginError(
            name,
            f"it was written for hook contract {info.hook_api}; this kernel has {HOOK_API}",
            "install a version of the plugin that matches the kernel",
        )
    return info


def check_plugin_name(name: str) -> None:
    """Refuse a name that is not ``kind.name`` in lower case with hyphens."""
    if not isinstance(name, str) or not PLUGIN_NAME.match(name):
        raise PluginError(
            str(name),
            "not a plugin name",
            BAD_NAME_HINT,
        )


class HookDeclarations:
    """What a plugin gets to declare its hooks with: of pluggy's manager the one method for that.

    With the manager itself a plugin could block or replace others, approvals among them, and nobody would
    see it.
    """

    __slots__ = ("_add",)

    def __init__(self, manager: pluggy.PluginManager) -> None:
        self._add = manager.add_hookspecs

    def add_hookspecs(self, module_or_class: Any) -> None:
        """Declare the hooks of a module or a class, as pluggy's method of that name does."""
        self._add(module_or_class)

    def __getattr__(self, name: str) -> NoReturn:
        msg = f"there is no {name!r} here: a plugin declares hooks with add_hookspecs, and nothing else"
        raise AttributeError(msg)


@frozen(eq=False)
class Registered:
    """Plugins in a manager, and what pluggy does not tell about them.

    Attributes:
        manager: holds the implementations.
        declared: plugin name to the hooks that it declares.
        inert: plugin name to the hooks that it answers and nobody declares; it said that this may be.
    """

    manager: pluggy.PluginManager
    declared: Mapping[str, tuple[str, ...]] = field(factory=dict)
    inert: Mapping[str, tuple[str, ...]] = field(factory=dict)


def build_manager(
    records: Sequence[PluginRecord],
    running: Callable[[PluginRecord], AbstractContextManager[None]] = lambda _record: nullcontext(),
) -> Registered:
    """A manager with every plugin of *records* registered.

    Args:
        records: in registration order.
        running: entered around whatever may run code of a plugin.

    Raises:
        PluginError: a plugin can't be registered; nothing is half-registered, since the manager is dropped.
    """
    manager = pluggy.PluginManager(hookspecs.PROJECT)
    manager.add_hookspecs(hookspecs)
    declared, inert = {}, {}
    for record in records:
        before = set(hook_names(manager))
        with running(record):
            _declare(manager, record)
        declared[record.name] = tuple(name for name in hook_names(manager) if name not in before)
    for record in records:
        with running(record):
            inert[record.name] = _check(manager, record)
    seen: dict[int, str] = {}
    for record in records:
        other = seen.setdefault(id(record.plugin), record.name)
        if other != record.name:
            raise PluginError(
                record.name, f"the same object is plugin {other} already", "register it under one name"
            )
        with running(record):
            _register(manager, record)
    return Registered(manager, declared, inert)


class _Implementations:
    """The marked functions of one plugin, as pluggy gets them.

    pluggy compares what it registers, so that two plugins that are equal (attrs instances, say) would be one
    to it. This compares by identity, and has no attribute that is not a hook.
    """


def _register(manager: pluggy.PluginManager, record: PluginRecord) -> None:
    holder = _Implementations()
    for attribute, _, _ in _implementations(manager, record.plugin):
        setattr(holder, attribute, getattr(record.plugin, attribute))
    try:
        registered = manager.register(holder, record.name)
    except (ValueError, pluggy.PluginValidationError) as error:
        raise PluginError(record.name, error_text(error)) from error
    if registered != record.name:
        raise PluginError(record.name, "it could not be registered: its name is blocked")


def hook_names(manager: pluggy.PluginManager) -> list[str]:
    """Every hook that has a specification, sorted."""
    return sorted(
        name for name, caller in vars(manager.hook).items() if name.startswith(PREFIX) and caller.has_spec()
    )


def _declare(manager: pluggy.PluginManager, record: PluginRecord) -> None:
    declare = getattr(record.plugin, "deepagents_addhooks", None)
    if declare is None or inspect.isclass(record.plugin):
        return
    if inspect.isgeneratorfunction(declare):
        raise PluginError(
            record.name, "deepagents_addhooks is a generator, which would never run", "drop the yield"
        )
    try:
        # As of any hook, the arguments that an implementation does not use may be left out.
        takes = inspect.signature(declare).parameters
        declare(**({"pluginmanager": HookDeclarations(manager)} if "pluginmanager" in takes else {}))
    except Exception as error:
        raise PluginError(record.name, f"deepagents_addhooks raised {error_text(error)}") from error


def _check(manager: pluggy.PluginManager, record: PluginRecord) -> tuple[str, ...]:
    """Refuse what can't be registered; the hooks that nobody declares are returned."""
    if inspect.isclass(record.plugin):
        raise PluginError(
            record.name,
            f"it is a class ({record.plugin.__name__}), and a class can't answer hooks",
            "register a module, or an instance of the class",
        )
    known = hook_names(manager)
    found = list(_implementations(manager, record.plugin))
    for implementation in found:
        _check_implementation(manager, record, implementation, known)
    marked = {attribute for attribute, _, _ in found}
    for name in known:
        if name not in marked and _is_function(record.plugin, name):
            raise PluginError(
                record.name,
                f"{name} has the name of a hook and is not marked",
                "put @hookimpl (deepagents_kernel.hookimpl) above it",
            )
    if not found:
        raise PluginError(
            record.name,
            f"it has no hook implementations (it is {record.plugin!r:.60})",
            "register a module or an object with functions that are marked with @hookimpl",
        )
    return tuple(name for _, name, _ in found if name not in known)


def _attribute_names(plugin: object) -> Iterable[str]:
    # A module's __dir__ may list names that its __getattr__ imports; hooks must stand in it in person.
    return vars(plugin) if isinstance(plugin, ModuleType) else dir(plugin)


def _is_function(plugin: object, name: str) -> bool:
    return name in _attribute_names(plugin) and inspect.isroutine(getattr(plugin, name, None))


def _implementations(manager: pluggy.PluginManager, plugin: object) -> Iterator[tuple[str, str, Any]]:
    """Attribute, hook and options of each implementation; the two names differ with ``specname=``."""
    for name in sorted(_attribute_names(plugin)):
        if name.startswith("__"):
            continue
        options = manager.parse_hookimpl_opts(plugin, name)
        if options is not None:
            yield name, options.get("specname") or name, options


def _check_implementation(
    manager: pluggy.PluginManager,
    record: PluginRecord,
    implementation: tuple[str, str, Any],
    known: Sequence[str],
) -> None:
    attribute, name, options = implementation
    if name not in known:
        if options.get("optionalhook"):
            return
        raise PluginError(
            record.name, f"there is no hook {name}", nearest_hint(name, known) or f"hooks: {', '.join(known)}"
        )
    if options.get("wrapper") or options.get("hookwrapper"):
        raise PluginError(
            record.name,
            f"{name} is a hook wrapper; hooks here collect and notify, wrappers are refused",
            "implement the hook as a plain function",
        )
    specification = getattr(manager.hook, name).spec
    if specification is None:
        return
    for argument in _required_arguments(getattr(record.plugin, attribute)):
        if argument not in specification.argnames:
            hint = nearest_hint(argument, specification.argnames)
            takes = f"{name} has {', '.join(specification.argnames) or 'no arguments'}"
            raise PluginError(
                record.name, f"{name} has no argument {argument!r}", f"{takes}{f'; {hint}' if hint else ''}"
            )


def _required_arguments(function: Any) -> list[str]:
    parameters = inspect.signature(function).parameters.values()
    return [
        p.name
        for p in parameters
        if p.default is p.empty and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
