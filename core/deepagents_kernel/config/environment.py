"""Configuration by environment variables."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.paths import absolute_path
from deepagents_kernel.config.source import Level, Source, Switches
from deepagents_kernel.config.values import (
    FLAGS,
    LISTS,
    LOCK_FILE,
    described,
    flag_word,
    flag_words,
    too_deep,
)
from deepagents_kernel.errors import nearest
from deepagents_kernel.plugins.names import PLUGIN_NAME

if TYPE_CHECKING:
    from pathlib import Path

    from deepagents_kernel.config.source import Key

_PREFIX = "DEEPAGENTS_"
_SWITCH = f"{_PREFIX}PLUGINS_"
_PLUGIN = f"{_PREFIX}PLUGIN__"
_KERNEL = f"{_PREFIX}KERNEL__"
# Whatever begins like this is meant for the kernel; other variables of the prefix are somebody else's.
_OWN = (f"{_PREFIX}PLUGIN", f"{_PREFIX}KERNEL")

#: The variable that names a configuration file.
CONFIG_VARIABLE = f"{_PREFIX}CONFIG"
#: What the label of the source says.
LABEL = "environment"

#: Every variable that is read, with what it means.
VARIABLES: tuple[tuple[str, str], ...] = (
    (CONFIG_VARIABLE, "Configuration file to read, in place of one that is searched for."),
    (f"{_SWITCH}ENABLE", "Names of plugins to switch on, separated by commas or blanks."),
    (f"{_SWITCH}DISABLE", "Names of plugins to switch off."),
    (f"{_SWITCH}ALLOW", "Names of the only plugins that may be in."),
    (f"{_SWITCH}REQUIRED", "Names of plugins that have to be on."),
    (f"{_SWITCH}AUTOLOAD", "Whether installed plugins are on without being named: yes or no."),
    (f"{_SWITCH}STRICT", "Whether a plugin that fails is an error: yes or no."),
    (f"{_SWITCH}LOCK", "Lock file, relative to the working directory; no for none."),
    (
        f"{_PLUGIN}KIND_NAME__KEY",
        "A setting of the plugin kind.name; further hyphens of the name are underscores.",
    ),
    (f"{_KERNEL}KEY", "A setting of the kernel."),
)

_FIXED = tuple(name for name, _ in VARIABLES if "__" not in name)
_SEPARATORS = re.compile(r"[,\s]+")


def environment_source(environ: Mapping[str, str]) -> Source:
    """What the environment variables say.

    Args:
        environ: all variables; those of others are left alone.

    Raises:
        ConfigError: a variable has a bad value, or a name that is almost one of ours.
    """
    names = sorted(name for name in environ if name.startswith(_PREFIX))
    for name in names:
        _check_known(name)
    places: dict[Key, str] = {}
    switches = _switches(environ, places)
    settings: dict[str, dict[str, Any]] = {}
    for name in names:
        if name.startswith((_PLUGIN, _KERNEL)):
            _set(settings, places, name, environ[name])
    return Source(
        Level.ENVIRONMENT,
        LABEL,
        switches=switches,
        settings=settings,
        locate=lambda key: _locate(places, switches, settings, key),
    )


def _check_known(name: str) -> None:
    if name in _FIXED or name.startswith((_PLUGIN, _KERNEL)):
        return
    own = name.startswith(_OWN)
    near = _nearest(name, _FIXED if own else (CONFIG_VARIABLE,))
    if near:
        raise _error(name, "there is no such variable", f"nearest: {', '.join(near)}")
    if own:
        forms = ", ".join(form for form, _ in VARIABLES if form not in _FIXED)
        raise _error(name, "there is no such variable", f"settings are written {forms}")


def _nearest(name: str, known: tuple[str, ...]) -> list[str]:
    # Without what they all begin with, which would make any two of them look alike.
    found = nearest(name.removeprefix(_PREFIX), [item.removeprefix(_PREFIX) for item in known])
    return [f"{_PREFIX}{item}" for item in found]


def _error(name: str, reason: str, hint: str = "") -> ConfigError:
    return ConfigError(LABEL, reason, hint, key=name)


# -- switches ----------------------------------------------------------------------------------------------


def _switches(environ: Mapping[str, str], places: dict[Key, str]) -> Switches:
    given: dict[str, Any] = {}
    for keys, read in ((LISTS, _names), (FLAGS, _flag), (("lock",), _lock)):
        for key in keys:
            name = f"{_SWITCH}{key.upper()}"
            if name in environ:
                given[key] = read(name, environ[name])
                places["plugins", key] = name
    return Switches(**given)


def _names(name: str, text: str) -> tuple[str, ...]:
    # DISABLE=0 is how people switch such a variable off. Of a closed list it would be a guess.
    if not name.endswith("_ALLOW") and flag_word(text) is False:
        return ()
    # Variables are often put together from others: a name that comes twice is no slip here.
    return tuple(dict.fromkeys(part for part in _SEPARATORS.split(text) if part))


def _flag(name: str, text: str) -> bool:
    found = flag_word(text)
    if found is None:
        raise _error(
            name, f"expected one of {flag_words()}; got {described(text)}", "unset it to say nothing"
        )
    return found


def _lock(name: str, text: str) -> Path | bool:
    text = text.strip()
    if not text:
        raise _error(name, "the path is empty", "unset it to say nothing, or set it to no for no lock file")
    word = flag_word(text)
    if word is False:
        return False
    try:
        return absolute_path(LOCK_FILE if word else text)
    except ValueError as error:
        raise _error(name, f"{described(text)} is no path here: {error}") from error


# -- settings ----------------------------------------------------------------------------------------------


def _set(settings: dict[str, dict[str, Any]], places: dict[Key, str], name: str, text: str) -> None:
    plugin, keys = _target(name)
    base = ("kernel",) if plugin == "kernel" else ("plugin", plugin)
    table: dict[str, Any] = settings.setdefault(plugin, {})
    for number, key in enumerate(keys, 1):
        place = (*base, *keys[:number])
        last = number == len(keys)
        if place in places or (last and key in table):
            other = places.get(place) or _below(places, place)
            raise _error(name, f"the variable {other} sets the same", "unset one of the two")
        if last:
            table[key] = _value(name, text)
            places[place] = name
        else:
            table = table.setdefault(key, {})


def _target(name: str) -> tuple[str, list[str]]:
    """The plugin and the path of the key that a variable names."""
    if name.startswith(_KERNEL):
        return "kernel", _keys(name, name.removeprefix(_KERNEL).lower().split("__"))
    owner, *keys = name.removeprefix(_PLUGIN).lower().split("__")
    kind, _, rest = owner.partition("_")
    plugin = f"{kind}.{rest.replace('_', '-')}"
    if not PLUGIN_NAME.fullmatch(plugin):
        hint = f"write {_PLUGIN}KIND_NAME__KEY, where the plugin is kind.name"
        raise _error(name, f"{described(plugin)} is no name of a plugin", hint)
    return plugin, _keys(name, keys)


def _keys(name: str, keys: list[str]) -> list[str]:
    if not keys or not all(keys):
        raise _error(name, "it names no setting", "end it in two underscores and the name of the setting")
    return keys


def _value(name: str, text: str) -> Any:
    if not text.startswith(("[", "{")):
        return text
    hint = "a value that begins with [ or { is read as JSON"
    try:
        value = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise _error(name, "values are nested too deeply") from None
    except json.JSONDecodeError as error:
        # Not the error's own text: it may go on to quote the value, which may be a secret.
        raise _error(name, f"not valid JSON: {error.msg} at character {error.pos + 1}", hint) from None
    except ValueError as error:
        raise _error(name, f"not valid JSON: {error}", hint) from None
    if too_deep(value):
        raise _error(name, "values are nested too deeply")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands there twice")
    return found


def _no_number(word: str) -> None:
    raise ValueError(f"{word} is no number of JSON")


# -- places ------------------------------------------------------------------------------------------------


def _locate(places: Mapping[Key, str], switches: Switches, settings: Mapping[str, Any], key: Key) -> str:
    """The variable that a value was set by; of a table that several variables make up, the first."""
    if not key:
        return ""
    if key[:1] == ("plugins",) and len(key) == 3:
        entries = getattr(switches, key[1], None) if key[1] in LISTS else None
        return places[key[:2]] if key[2] in (entries or ()) else ""
    for end in range(len(key), 0, -1):
        if key[:end] in places:
            return places[key[:end]] if _is_there(settings, key) else ""
    return _below(places, key)


def _below(places: Mapping[Key, str], key: Key) -> str:
    return min((name for place, name in places.items() if place[: len(key)] == key), default="")


def _is_there(settings: Mapping[str, Any], key: Key) -> bool:
    if key[0] == "plugins":
        return len(key) == 2
    found: Any = {"kernel": settings.get("kernel"), "plugin": settings}
    for name in key:
        if not isinstance(found, Mapping) or name not in found:
            return False
        found = found[name]
    return True
