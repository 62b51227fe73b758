"""What a configuration file says: ``deepagents.toml``, or ``[tool.deepagents]`` of ``pyproject.toml``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepagents_kernel.config.document import Document, dotted, read_document
from deepagents_kernel.config.expand import Expander
from deepagents_kernel.config.paths import absolute_path, shown_path
from deepagents_kernel.config.source import ConfiguredProfile, Source, Switches
from deepagents_kernel.config.tables import table
from deepagents_kernel.config.values import (
    FLAGS,
    LISTS,
    LOCK_FILE,
    SWITCH_KEYS,
    described,
    is_kind,
    name_fault,
    too_deep,
)
from deepagents_kernel.errors import nearest_hint

if TYPE_CHECKING:
    from pathlib import Path

    from deepagents_kernel.config.source import Key, Level

_TABLES = ("plugins", "plugin", "profiles", "kernel")
# Refused rather than ignored: who writes them counts on them.
_RESERVED = ("backends", "agents", "permissions")


def read_file(path: Path, level: Level, environ: Mapping[str, str]) -> Source | None:
    """Read a configuration file.

    Args:
        path: the file; one that is named ``pyproject.toml`` holds the configuration in a table.
        level: its precedence.
        environ: the variables that stand in its values.

    Returns:
        What it says, or ``None`` for a ``pyproject.toml`` without that table.

    Raises:
        ConfigError: it can't be read, has an unknown key or a bad value, or uses a variable that is not set.
    """
    document = read_document(path)
    return None if document.table is None else source_from(document, level, environ)


def source_from(document: Document, level: Level, environ: Mapping[str, str]) -> Source:
    """What a file says that was read already, and has the table.

    Raises:
        ConfigError: as :func:`read_file`.
    """
    tables = table(document, (), document.table)
    for name in tables:
        _check_known(document, name)
    expander = Expander(environ, document.error)
    return Source(
        level,
        shown_path(document.path),
        document.path,
        _switches(document, table(document, ("plugins",), tables.get("plugins", {})), expander),
        _settings(document, tables, expander),
        expander.used,
        _profiles(document, tables, expander),
        locate=document.where,
    )


def _check_known(document: Document, name: str) -> None:
    if name in _RESERVED:
        raise document.error((name,), "this version does not read this table yet", "remove it")
    if name not in _TABLES:
        hint = nearest_hint(name, _TABLES) or f"there are: {', '.join(_TABLES)}"
        raise document.error((name,), "there is no such table", hint)


# -- [plugins] ---------------------------------------------------------------------------------------------


def _switches(document: Document, said: Mapping[str, Any], expander: Expander) -> Switches:
    for name, value in said.items():
        if name not in SWITCH_KEYS:
            raise _unknown_switch(document, name, value)
    given: dict[str, Any] = {name: _names(document, name, said[name]) for name in LISTS if name in said}
    given |= {name: _flag(document, name, said[name]) for name in FLAGS if name in said}
    if "lock" in said:
        given["lock"] = _lock(document, said["lock"], expander)
    return Switches(**given)


def _unknown_switch(document: Document, name: str, value: Any) -> Exception:
    if isinstance(value, Mapping):
        hint = f"settings of a plugin stand in [{dotted((*document.prefix, 'plugin', name))}]"
        return document.error(("plugins", name), "there is no such key", hint)
    hint = nearest_hint(name, SWITCH_KEYS) or f"there are: {', '.join(SWITCH_KEYS)}"
    return document.error(("plugins", name), "there is no such key", hint)


def _names(document: Document, name: str, value: Any) -> tuple[str, ...]:
    key = ("plugins", name)
    if not isinstance(value, list):
        hint = f"write {name} = [{value!r}]" if isinstance(value, str) else ""
        raise document.error(key, f"expected a list of names, got {described(value)}", hint)
    found: dict[str, None] = {}
    for entry in value:
        if not isinstance(entry, str):
            reason = f"expected a list of names, got one with {described(entry)} in it"
            raise document.error(key, reason)
        text = entry.strip()
        if fault := name_fault(text):
            raise document.error(
                key, fault, "put each name into quotes of its own" if text else "", entry=entry
            )
        if text in found:
            raise document.error(key, f"{described(text)} stands there twice", "remove one", entry=entry)
        found[text] = None
    return tuple(found)


def _flag(document: Document, name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise document.error(("plugins", name), f"expected true or false, got {described(value)}")
    return value


def _lock(document: Document, value: Any, expander: Expander) -> Path | bool:
    key = ("plugins", "lock")
    if value is False:
        return False
    text = LOCK_FILE if value is True else value
    if not isinstance(text, str):
        raise document.error(key, f"expected a path, true or false, got {described(value)}")
    text = expander.value(text, key).strip()
    if not text:
        raise document.error(key, "the path is empty", "write false for no lock file")
    try:
        return absolute_path(text, document.path.parent)
    except ValueError as error:
        raise document.error(key, f"{described(value)} is no path here: {error}") from error


# -- settings ----------------------------------------------------------------------------------------------


def _settings(
    document: Document, tables: Mapping[str, Any], expander: Expander
) -> dict[str, Mapping[str, Any]]:
    plugins = table(document, ("plugin",), tables.get("plugin", {}))
    given: dict[str, tuple[Key, Any]] = {name: (("plugin", name), value) for name, value in plugins.items()}
    for name, (key, value) in given.items():
        _check_plugin(document, name, key, value)
    if "kernel" in tables:
        given["kernel"] = (("kernel",), table(document, ("kernel",), tables["kernel"]))
    return {name: _expanded(document, key, value, expander) for name, (key, value) in given.items()}


def _check_plugin(document: Document, name: str, key: Key, value: Any) -> None:
    if name == "kernel":
        hint = f"write [{dotted((*document.prefix, 'kernel'))}]"
        raise document.error(key, "the kernel is no plugin", hint)
    if is_kind(name):
        raise _unquoted(document, name, key, value)
    if name in SWITCH_KEYS and not isinstance(value, Mapping):
        hint = f"which plugins are in is said in [{dotted((*document.prefix, 'plugins'))}]"
        raise document.error(key, "there is no such plugin", hint)
    if fault := name_fault(name):
        raise document.error(key, fault, "write the name without blanks")
    table(document, key, value)


def _unquoted(document: Document, kind: str, key: Key, value: Any) -> Exception:
    """The error for ``[plugin.kind.name]``, of which TOML makes a table in a table."""
    nested = (
        [name for name, item in value.items() if isinstance(item, Mapping)]
        if isinstance(value, Mapping)
        else []
    )
    name = nested[0] if nested else "NAME"
    hint = f"write [{dotted((*document.prefix, 'plugin', f'{kind}.{name}'))}]"
    return document.error((*key, *nested[:1]), "the name of a plugin has a dot in it and needs quotes", hint)


def _expanded(document: Document, key: Key, value: Any, expander: Expander) -> Mapping[str, Any]:
    if too_deep(value):
        raise document.error(key, "values are nested too deeply")
    expanded: Mapping[str, Any] = expander.value(value, key)
    return expanded


# -- profiles ----------------------------------------------------------------------------------------------


def _profiles(
    document: Document, tables: Mapping[str, Any], expander: Expander
) -> tuple[ConfiguredProfile, ...]:
    if "profiles" not in tables:
        return ()
    # Imported for files that have profiles: reading configuration has to be fast.
    from deepagents_kernel.config.profiles import read_profiles

    return read_profiles(document, tables["profiles"], expander)
