"""Values of configuration made fit to be shown: without what gives access to something."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from attrs import fields, has

#: What stands in the place of a secret.
REDACTED = "[redacted]"

# `max_tokens` is a number and `token_limit` too: only what the name ends in says what the value is.
_SECRET = re.compile(r"(?:keys?|token|secrets?|passwords?|passphrases?|credentials?|authorization)[^a-z]*\Z")
# User and password before a host. A password may have unescaped slashes in it: what stands behind a colon
# and is no port goes up to the last @.
_USER = re.compile(r"(?<=://)(?:[^\s/?#]*@|[^\s/?#@:]*:(?!\d+(?:[/?#]|\s|$))\S*@)")
# Name and equals sign, at the beginning of a query, a fragment or a word.
_PAIR = re.compile(r"(?<![^?&#;,\s])([^=?&#;,\s]+)=")


def is_secret(name: str) -> bool:
    """Whether what has this name is a secret: a key, token, secret, password, credential or the like."""
    if "%" in name:
        from urllib.parse import unquote

        name = unquote(name)
    return _SECRET.search(name.casefold()) is not None


def shown(key: str, value: Any, expanded: tuple[str, ...] = ()) -> Any:
    """A value as a listing may show it.

    Args:
        key: name of the setting; the last part of its path is enough.
        value: what it is set to.
        expanded: names of the variables that the value was put together from.

    Returns:
        ``[redacted]`` for a secret. Otherwise the value: mappings, lists and settings objects (as mappings)
        without the secrets in them, texts without the user and the secret parameters of addresses.
    """
    if value is None or isinstance(value, bool) or value == "":
        return value
    if is_secret(key) or any(is_secret(name) for name in expanded):
        return REDACTED
    if isinstance(value, Mapping):
        return {name: shown(str(name), item) for name, item in value.items()}
    if has(type(value)):
        return {item.alias: shown(item.alias, getattr(value, item.name)) for item in fields(type(value))}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [shown(key, item) for item in value]
    return _without_secrets(value) if isinstance(value, str) else value


def _without_secrets(text: str) -> str:
    text = _USER.sub(f"{REDACTED}@", text)
    parts, done = [], 0
    for pair in _PAIR.finditer(text):
        if pair.start() < done or not is_secret(pair[1]):
            continue
        end = text.find("&", pair.end())
        parts += [text[done : pair.end()], REDACTED]
        done = len(text) if end < 0 else end
    return "".join([*parts, text[done:]])
