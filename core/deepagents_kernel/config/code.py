"""What a program says about plugins in a call."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from deepagents_kernel.config.source import Key, Level, Source, Switches
from deepagents_kernel.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable


def code_source(
    call: str,
    *,
    enable: Iterable[str] | None = None,
    disable: Iterable[str] | None = None,
    allow: Iterable[str] | None = None,
    required: Iterable[str] | None = None,
    autoload: bool | None = None,
    strict: bool | None = None,
    lock: str | Path | bool | None = None,
) -> Source:
    """The source of configuration that the arguments of a call are.

    Args:
        call: how the call is named where its arguments are, such as ``Kernel.discover``.
        enable: names to switch on; ``None`` says nothing.
        disable: names to switch off.
        allow: closed list.
        required: names that have to be on.
        autoload: whether installed plugins are on without being named.
        strict: whether a plugin that fails is an error.
        lock: lock file, relative to the working directory; ``True`` for ``deepagents.lock``.

    Raises:
        SettingsError: an argument has the wrong type.
    """

    def locate(key: Key) -> str:
        return f"{call}({key[1]}=...)" if len(key) > 1 else f"{call}(...)"

    switches = Switches(
        enable=_names("enable", enable, call),
        disable=_names("disable", disable, call),
        allow=_names("allow", allow, call),
        required=_names("required", required, call),
        autoload=_flag("autoload", autoload, call),
        strict=_flag("strict", strict, call),
        lock=_lock(lock, call),
    )
    return Source(Level.CODE, f"{call}(...)", switches=switches, locate=locate)


def _names(key: str, value: Any, call: str) -> tuple[str, ...] | None:
    if value is None:
        return None
    names = (value,) if isinstance(value, str) else tuple(value)
    for name in names:
        if not isinstance(name, str) or not name.strip():
            raise SettingsError(f"plugins.{key}", f"{call}({key}=...)", f"expected names, got {name!r:.60}")
    return names


def _flag(key: str, value: Any, call: str) -> bool | None:
    if value is not None and not isinstance(value, bool):
        raise SettingsError(f"plugins.{key}", f"{call}({key}=...)", f"expected a bool, got {value!r:.60}")
    return value


def _lock(value: Any, call: str) -> Path | bool | None:
    if value is None or value is False:
        return value
    if value is True:
        value = "deepagents.lock"
    if not isinstance(value, (str, Path)) or not str(value):
        raise SettingsError("plugins.lock", f"{call}(lock=...)", f"expected a path, got {value!r:.60}")
    return Path(value).absolute()
