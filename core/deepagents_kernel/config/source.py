"""What a place of configuration says, and where in it each value stands.

Data only. Files and environment are read elsewhere in this package; what the values mean for plugins is
decided in :mod:`deepagents_kernel.plugins`.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

#: Path of a value inside its source: ``("plugins", "disable", "middleware.rubric")`` is an entry of a list,
#: ``("plugin", "middleware.filesystem", "read_limit")`` a setting.
Key = tuple[str, ...]


class Level(enum.IntEnum):
    """Who speaks, in rising precedence."""

    DEFAULT = 0
    USER = 1
    PROJECT = 2
    ENVIRONMENT = 3
    COMMAND_LINE = 4
    CODE = 5


@frozen
class Switches:
    """What one source says about which plugins are in: its ``[plugins]`` table.

    ``None`` means that the source says nothing; an empty list is something that it says.

    Attributes:
        enable: names to switch on; the list of an inner source replaces that of an outer one.
        disable: names to switch off; lists of all sources add up.
        allow: closed list; whatever no name in it stands for is blocked.
        required: names that have to be on.
        autoload: whether installed plugins are on without being named.
        strict: whether a plugin that fails is an error.
        lock: lock file, absolute; ``False`` for "no lock".
        single: ``-p NAME`` and ``-p no:NAME`` of the command line, in order; ``True`` switches on.
    """

    enable: tuple[str, ...] | None = None
    disable: tuple[str, ...] | None = None
    allow: tuple[str, ...] | None = None
    required: tuple[str, ...] | None = None
    autoload: bool | None = None
    strict: bool | None = None
    lock: Path | bool | None = None
    single: tuple[tuple[str, bool], ...] = ()


@frozen(eq=False)
class ConfiguredProfile:
    """A profile that a file states.

    Attributes:
        kind: ``"harness"`` or ``"provider"``.
        key: the registry key: ``provider`` or ``provider:model``.
        given: a ``HarnessProfileConfig``, or the keyword arguments of models, which may hold secrets.
    """

    kind: str
    key: str
    given: Any = field(repr=False)

    def profile(self) -> Any:
        """The ``HarnessProfileConfig`` or ``ProviderProfile``."""
        if self.kind == "harness":
            return self.given
        # Imported when a kernel is built: listings read configuration too, and have to be fast.
        from deepagents_kernel.profiles.provider import ProviderProfile

        return ProviderProfile(init_kwargs=self.given)


def _nowhere(_key: Key) -> str:
    return ""


@frozen(eq=False)
class Source:
    """One place of configuration.

    Attributes:
        level: its precedence.
        label: what it is called in listings, such as the path of the file, or ``environment``.
        path: the file, if it is one.
        switches: its ``[plugins]`` table.
        settings: plugin name, or ``"kernel"``, to the values that it gives; variables are expanded already.
        expanded: key to the names of the variables that its value was expanded from.
        profiles: its ``[profiles]`` table, in the order of the file.
    """

    level: Level
    label: str
    path: Path | None = None
    switches: Switches = field(factory=Switches)
    settings: Mapping[str, Mapping[str, Any]] = field(factory=dict)
    expanded: Mapping[Key, tuple[str, ...]] = field(factory=dict)
    profiles: tuple[ConfiguredProfile, ...] = ()
    _locate: Callable[[Key], str] = field(default=_nowhere, kw_only=True, repr=False)

    def where(self, *key: str) -> str:
        """Where a value stands, as a user finds it: ``deepagents.toml:4``, a variable's name, an argument.

        Args:
            *key: path of the value; the label of the source is the answer for one that is not there.
        """
        return self._locate(key) or self.label


@frozen(eq=False)
class IgnoredFile:
    """A configuration file that was found and not read.

    Attributes:
        path: the file.
        reason: why it was not read, and how to have it read.
    """

    path: Path
    reason: str


@frozen(eq=False)
class Configuration:
    """Everything that applies to one kernel.

    Attributes:
        sources: outermost first, in rising precedence.
        ignored: files that were passed over.
    """

    sources: tuple[Source, ...] = ()
    ignored: tuple[IgnoredFile, ...] = ()
