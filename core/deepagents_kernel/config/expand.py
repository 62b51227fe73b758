"""Environment variables within the values of a configuration file.

``${NAME}`` is the value of a variable, which has to be set. ``${NAME:-text}`` is *text* where the variable is
not set or empty. ``$${`` stands for ``${`` itself. What a variable holds is not looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from deepagents_kernel.config.source import Key

_USE = re.compile(
    r"(?P<literal>\$\$\{)"
    r"|\$\{(?P<name>[A-Za-z_][A-Za-z0-9_]*)(?::-(?P<default>(?:(?!\$\{)[^}])*))?\}"
    r"|(?P<bad>\$\{)"
)

#: Makes the error for a key: (key, reason, hint).
Fault = Callable[["Key", str, str], Exception]


@frozen(eq=False)
class Expander:
    """Puts the values of variables into the values of one file.

    Attributes:
        environ: the variables.
        fault: makes the error to raise, from key, reason and hint.
        used: key to the names of the variables that stand in its value, filled on the way. What stands in a
            list belongs to the key of the list.
    """

    environ: Mapping[str, str] = field(repr=False)
    fault: Fault
    used: dict[Key, tuple[str, ...]] = field(factory=dict)

    def value(self, value: Any, key: Key) -> Any:
        """*value* with every variable in it replaced; keys of tables stay as they are.

        Raises:
            ConfigError: a variable is not set, or something that begins like one is none.
        """
        if isinstance(value, str):
            return self._text(value, key)
        if isinstance(value, Mapping):
            return {name: self.value(item, (*key, name)) for name, item in value.items()}
        if isinstance(value, list):
            return [self._entry(item, key) for item in value]
        return value

    def _entry(self, value: Any, key: Key) -> Any:
        if isinstance(value, Mapping):
            return {name: self._entry(item, key) for name, item in value.items()}
        return self.value(value, key)

    def _text(self, text: str, key: Key) -> str:
        return _USE.sub(lambda found: self._replacement(found, key), text)

    def _replacement(self, found: re.Match[str], key: Key) -> str:
        if found["literal"]:
            return "${"
        if found["bad"]:
            reason = "what begins with ${ has to be a variable, ${NAME} or ${NAME:-text}"
            raise self.fault(key, reason, "$${ stands for ${ itself")
        name, default = found["name"], found["default"]
        self.used[key] = tuple(dict.fromkeys((*self.used.get(key, ()), name)))
        value = self.environ.get(name)
        if value is None and default is None:
            hint = f"set it, or give a text to use instead: ${{{name}:-text}}"
            raise self.fault(key, f"the environment variable {name} is not set", hint)
        return value or default or ""
