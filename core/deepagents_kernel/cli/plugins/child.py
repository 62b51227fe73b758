"""What runs in a process of its own: import a plugin, look at it, write down what was seen.

The result goes to a file, because a plugin may write anything to the streams, or close them.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.plugins.info import PluginInfo

_MOST_WARNINGS = 10
_LONG = 200


def main(request: Mapping[str, Any]) -> None:
    """Look at a plugin, or at all of them together, and end the process.

    Args:
        request: the file that takes the ``result``; ``name`` of the plugin and the names that are ``allowed``
            to be imported along with it because it requires them, or else the options ``single`` and
            ``config`` of a call of the command.
    """
    try:
        if "name" in request:
            result = look(request["name"], request["allowed"])
        else:
            result = {"error": kernel_error(request["single"], request["config"])}
    except KeyboardInterrupt:
        raise
    except SystemExit as error:
        result = {"error": f"it ended the process that imported it: SystemExit({error.code!r})"}
    except BaseException as error:
        result = {"error": f"{type(error).__name__}: {error}"}
    Path(request["result"]).write_text(json.dumps(result, default=str), encoding="utf-8")
    for stream in (sys.stdout, sys.stderr):
        if stream is not None and not stream.closed:
            stream.flush()
    # Threads of the plugin, and what it does at the exit, are not waited for.
    os._exit(0)


def look(name: str, allowed: Sequence[str]) -> dict[str, Any]:
    """Everything that can be said about a plugin once it is loaded.

    Raises:
        BaseException: whatever is not the plugin's own failure to load.
    """
    # So that built-ins, and what agents are made with, are not counted as the plugin's.
    import langchain.agents.middleware  # noqa: F401 - imported for its time

    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.plugins.info import PluginInfo

    Kernel()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        kernel, seconds = _built(name, allowed)
    row = kernel.catalog.row(name)
    plugin = _loaded(kernel, name)
    info = getattr(plugin, "PLUGIN", None)
    return {
        "error": "" if row.on else row.why,
        "hint": "" if row.on else row.hint,
        "seconds": seconds,
        "provides": list(row.provides),
        "deprecations": list(_deprecations(caught, row.target)),
        **(_facts(info) if isinstance(info, PluginInfo) else {}),
        **_hooks(kernel, name),
    }


def kernel_error(single: Sequence[tuple[str, bool]], config: str | None) -> str:
    """Why no kernel can be built with such options; empty if one can."""
    from deepagents_kernel.cli.call import Call
    from deepagents_kernel.errors import DeepAgentsError, PluginWarning
    from deepagents_kernel.kernel import Kernel

    call = Call()
    call.single, call.config = [(name, on) for name, on in single], config
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PluginWarning)
            Kernel.discover(config=call.configuration())
    except DeepAgentsError as error:
        return str(error)
    return ""


def _built(name: str, allowed: Sequence[str]) -> tuple[Kernel, float]:
    """A kernel with the plugin and what it requires, and the seconds that the plugin alone took."""
    from deepagents_kernel.config.source import Configuration
    from deepagents_kernel.kernel import Kernel

    wanted = [name]
    seconds: float | None = None
    while True:
        kernel = Kernel.discover(enable=wanted, autoload=False, config=Configuration())
        if seconds is None:
            seconds = kernel.catalog.row(name).seconds or 0.0
        required = getattr(getattr(_loaded(kernel, name), "PLUGIN", None), "requires", ())
        more = [item for item in required if item in allowed and item not in wanted]
        if not more:
            return kernel, seconds
        wanted += more


def _loaded(kernel: Kernel, name: str) -> object | None:
    """The plugin, be it registered or refused after its import."""
    from deepagents_kernel.plugins.entry_points import load_entry_point

    record = kernel.records.get(name)
    if record is not None:
        return record.plugin
    installed = kernel.catalog.row(name).installed
    if installed is None or installed.value.partition(":")[0] not in sys.modules:
        return None
    try:
        plugin: object = load_entry_point(installed)
    except Exception:
        return None
    return plugin


def _facts(info: PluginInfo) -> dict[str, Any]:
    return {
        "summary": info.summary,
        "serves": list(info.serves),
        "requires": list(info.requires),
        "conflicts": list(info.conflicts),
        "settings": list(_settings(info.settings)) if info.settings is not None else [],
        "hook_api": info.hook_api,
    }


def _settings(cls: type[Any]) -> Iterator[dict[str, str]]:
    from attrs import NOTHING, fields, has

    from deepagents_kernel.config.secrets import shown

    if not has(cls):
        return
    try:
        defaults: object = cls()
    except Exception:
        defaults = None
    annotations = inspect.get_annotations(cls)
    for attribute in fields(cls):
        if attribute.init:
            kind = annotations.get(attribute.name, attribute.type)
            default = getattr(defaults, attribute.name, NOTHING)
            visible = shown(attribute.alias, default)
            yield {
                "key": attribute.alias,
                "type": kind if isinstance(kind, str) else inspect.formatannotation(kind),
                "default": "" if default is NOTHING else f"{_alike(visible, default)!r:.{_LONG}}",
            }


def _alike(visible: Any, default: object) -> Any:
    return tuple(visible) if isinstance(default, tuple) and isinstance(visible, list) else visible


def _hooks(kernel: Kernel, name: str) -> dict[str, list[str]]:
    if name not in kernel.records:
        return {}
    calls = kernel.calls
    return {
        "hooks": [hook for hook in calls.declared() if name in calls.providers(hook)],
        "declares": list(calls.declared_by().get(name, ())),
        "inert": list(calls.inert().get(name, ())),
    }


def _deprecations(caught: Sequence[warnings.WarningMessage], target: str) -> Iterator[str]:
    """What the plugin uses and should not, as far as its own files are concerned."""
    package = sys.modules.get(target.partition(":")[0].partition(".")[0])
    file = getattr(package, "__file__", None)
    if file is None:
        return
    place = Path(file).parent if hasattr(package, "__path__") else Path(file)
    kinds = (DeprecationWarning, PendingDeprecationWarning, FutureWarning)
    found = (
        str(item.message)
        for item in caught
        if issubclass(item.category, kinds) and Path(item.filename).is_relative_to(place)
    )
    yield from list(dict.fromkeys(found))[:_MOST_WARNINGS]
