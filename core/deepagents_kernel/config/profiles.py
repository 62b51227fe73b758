"""The table ``[profiles]`` of a configuration file: harness and provider profiles by key.

Every mistake is found here, where its line is known, and not by whoever looks a profile up later.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from deepagents_kernel.config.source import ConfiguredProfile
from deepagents_kernel.config.tables import header, table
from deepagents_kernel.config.values import described, too_deep
from deepagents_kernel.errors import ProfileError, nearest_hint
from deepagents_kernel.profiles.config import HarnessProfileConfig
from deepagents_kernel.profiles.exclusions import blank_fault
from deepagents_kernel.profiles.keys import check_key

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.config.document import Document
    from deepagents_kernel.config.expand import Expander
    from deepagents_kernel.config.source import Key

_KINDS = ("harness", "provider")
_CALLED = ("extra_middleware", "pre_init", "init_kwargs_factory")
_IN_CODE = "objects and functions can't stand in a file; register the profile in code or in a plugin"

#: Complains about the value of a field: (file, path of the key, value).
Check = Callable[["Document", "Key", Any], None]


def read_profiles(document: Document, value: Any, expander: Expander) -> tuple[ConfiguredProfile, ...]:
    """The profiles of a file, in its order.

    Args:
        document: the file.
        value: what it says below ``profiles``.
        expander: puts variables into the keyword arguments of models. Texts of harness profiles stay as they
            are, since ``${...}`` may well be what the model is to read.

    Raises:
        ConfigError: a table, a key, a field or a value that a profile can't have.
    """
    return tuple(_read(document, table(document, ("profiles",), value), expander))


def _read(document: Document, kinds: Mapping[str, Any], expander: Expander) -> Iterator[ConfiguredProfile]:
    for kind, profiles in kinds.items():
        if kind not in _KINDS:
            raise _unknown_kind(document, kind)
        for name, value in table(document, ("profiles", kind), profiles).items():
            key = ("profiles", kind, name)
            _check_key(document, key)
            values = table(document, key, value)
            if kind == "harness":
                yield ConfiguredProfile(kind, name, _harness(document, key, values))
            else:
                yield ConfiguredProfile(kind, name, _kwargs(document, key, values, expander))


def _unknown_kind(document: Document, kind: str) -> Exception:
    hint = nearest_hint(kind, _KINDS)
    if not hint:
        forms = " or ".join(header(document, ("profiles", known, kind)) for known in _KINDS)
        hint = f"write {forms}"
    return document.error(("profiles", kind), "there is no such sort of profile", hint)


def _check_key(document: Document, key: Key) -> None:
    try:
        check_key(key[-1], f"{key[1]} profile")
    except ProfileError as error:
        reason, _, hint = str(error).partition("\n")
        raise document.error(key, reason, hint.strip()) from error


def _quotes(document: Document, key: Key, name: str, value: Mapping[str, Any]) -> str:
    """What to say of a table in a table, which TOML makes of a key with a dot and without quotes.

    The dot may be one of a version, or stand where a colon belongs: ``[profiles.harness.openai.gpt-5.4]``.
    """
    version = name[:1].isdigit() or ":" in key[-1]
    meant = f"{key[-1]}{'.' if version else ':'}{name}"
    for rest in value:
        if rest[:1].isdigit():
            meant = f"{meant}.{rest}"
            break
    quoted = header(document, (*key[:-1], meant))
    if version:
        return f"a key with a dot in it needs quotes: {quoted}"
    return f"a model stands behind its provider and a colon, in quotes: {quoted}"


# -- harness -----------------------------------------------------------------------------------------------


def _harness(document: Document, key: Key, values: Mapping[str, Any]) -> HarnessProfileConfig:
    for name, value in values.items():
        if name not in FIELDS:
            raise _unknown_field(document, key, name, value)
        FIELDS[name](document, (*key, name), value)
    return HarnessProfileConfig.from_dict(values)


def _unknown_field(document: Document, key: Key, name: str, value: Any) -> Exception:
    hint = _IN_CODE if name in _CALLED else nearest_hint(name, FIELDS)
    if not hint and isinstance(value, Mapping):
        hint = _quotes(document, key, name, value)
    known = f"there are: {', '.join(FIELDS)}"
    return document.error((*key, name), "a harness profile has no such field", hint or known)


def _text(document: Document, key: Key, value: Any) -> None:
    if not isinstance(value, str):
        raise document.error(key, f"expected a text, got {described(value)}")


def _flag(document: Document, key: Key, value: Any) -> None:
    if not isinstance(value, bool):
        raise document.error(key, f"expected true or false, got {described(value)}")


def _texts(document: Document, key: Key, value: Any) -> None:
    for name, text in table(document, key, value).items():
        if fault := blank_fault(name):
            raise document.error((*key, name), f"{name!r}: {fault}")
        _text(document, (*key, name), text)


def _names(document: Document, key: Key, value: Any) -> None:
    if not isinstance(value, list):
        hint = f"write {key[-1]} = [{value!r}]" if isinstance(value, str) else ""
        raise document.error(key, f"expected a list of names, got {described(value)}", hint)
    for name in value:
        if not isinstance(name, str):
            raise document.error(key, f"expected a list of names, got one with {described(name)} in it")
        if not name.strip():
            raise document.error(key, "a name is empty", "remove it", entry=name)
        if fault := blank_fault(name):
            raise document.error(key, f"{name!r}: {fault}", entry=name)


def _middleware(document: Document, key: Key, value: Any) -> None:
    _names(document, key, value)
    for name in value:
        try:
            HarnessProfileConfig.from_dict({key[-1]: [name]})
        except ProfileError as error:
            reason = str(error).splitlines()[-1].strip().replace(" (string form)", "")
            raise document.error(key, reason, entry=name) from error


_GENERAL_PURPOSE: Mapping[str, Check] = {"enabled": _flag, "description": _text, "system_prompt": _text}


def _general_purpose(document: Document, key: Key, value: Any) -> None:
    for name, item in table(document, key, value).items():
        if name not in _GENERAL_PURPOSE:
            hint = nearest_hint(name, _GENERAL_PURPOSE) or f"there are: {', '.join(_GENERAL_PURPOSE)}"
            raise document.error((*key, name), "there is no such field", hint)
        _GENERAL_PURPOSE[name](document, (*key, name), item)


#: Every field of a harness profile that a file can state, with the check of its value.
FIELDS: Mapping[str, Check] = {
    "base_system_prompt": _text,
    "system_prompt_suffix": _text,
    "tool_description_overrides": _texts,
    "excluded_tools": _names,
    "excluded_middleware": _middleware,
    "general_purpose_subagent": _general_purpose,
    "restored_tools": _names,
    "restored_middleware": _middleware,
}


# -- provider ----------------------------------------------------------------------------------------------

_FIELD = "init_kwargs"


def _kwargs(document: Document, key: Key, values: Mapping[str, Any], expander: Expander) -> Mapping[str, Any]:
    for name, value in values.items():
        if name != _FIELD:
            raise document.error(
                (*key, name),
                "a provider profile in a file has no such field",
                _provider_hint(document, key, name, value),
            )
    path = (*key, _FIELD)
    kwargs = table(document, path, values.get(_FIELD, {}))
    if too_deep(kwargs):
        raise document.error(path, "values are nested too deeply")
    _check_plain(document, path, kwargs)
    expanded: Mapping[str, Any] = expander.value(kwargs, path)
    return expanded


def _provider_hint(document: Document, key: Key, name: str, value: Any) -> str:
    if name in _CALLED:
        return _IN_CODE
    near = nearest_hint(name, [_FIELD])
    if near:
        return near
    below = f"keyword arguments of the model stand in {header(document, (*key, _FIELD))}"
    return f"{below}; {_quotes(document, key, name, value)}" if isinstance(value, Mapping) else below


def _check_plain(document: Document, key: Key, value: Any) -> None:
    """Refuse dates and times, which TOML has and keyword arguments of models don't; no value is shown."""
    if isinstance(value, Mapping):
        for name, item in value.items():
            _check_plain(document, (*key, name), item)
    elif isinstance(value, list):
        for item in value:
            _check_plain(document, key, item)
    elif not isinstance(value, str | bool | int | float):
        raise document.error(key, "a date or a time is nothing that a model takes", "put it into quotes")
