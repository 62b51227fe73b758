"""The parts of a merged harness profile: which one excludes, which one takes back, whose factory failed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from attrs import evolve, frozen

from deepagents_kernel.errors import nearest_hint
from deepagents_kernel.plugins.names import PLUGIN_NAME
from deepagents_kernel.profiles.exclusions import known_name, shown, take_back
from deepagents_kernel.profiles.extras import materialize, replace_matching
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.merging import merge_harness_profiles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import Any

    Middleware = Any


def owned(layer: str, owner: str) -> str:
    """A layer and its owner in words.

    Args:
        layer: the registry key, or the name that a profile was given under.
        owner: a plugin, a place in a file, or an empty string for nobody.
    """
    if not owner:
        return layer
    return f"{layer} (plugin {owner})" if PLUGIN_NAME.fullmatch(owner) else f"{layer} ({owner})"


@frozen
class ProfilePart:
    """One harness profile of those that were merged.

    Attributes:
        layer: the registry key, or the name that it was given for one agent.
        profile: the profile.
        owner: the plugin that registered it, or its place in a file; empty for the program itself.
    """

    layer: str
    profile: HarnessProfile
    owner: str = ""

    __hash__ = None  # type: ignore[assignment]  # as the profile that it holds

    @property
    def label(self) -> str:
        """The layer and its owner in words."""
        return owned(self.layer, self.owner)


@frozen
class PointlessEntry:
    """Something that a layer takes back and no layer below it excludes.

    Attributes:
        part: the layer.
        field: ``restored_tools`` or ``restored_middleware``.
        entry: what is taken back, in words.
        hint: the nearest names that are excluded below, else all of them.
    """

    part: ProfilePart
    field: str
    entry: str
    hint: str

    __hash__ = None  # type: ignore[assignment]  # as the part


def pointless_entries(parts: Iterable[ProfilePart]) -> Iterator[PointlessEntry]:
    """What the parts take back in vain, misspelt names above all; lowest part first, sorted within one."""
    below = HarnessProfile()
    for part in parts:
        profile = part.profile
        for name in sorted(profile.restored_tools - below.excluded_tools):
            yield PointlessEntry(part, "restored_tools", repr(name), _hint(name, below.excluded_tools))
        excluded = below.excluded_middleware
        vain = {shown(e): e for e in profile.restored_middleware if take_back(excluded, [e]) == excluded}
        for text, entry in sorted(vain.items()):
            hint = _hint(known_name(entry), map(known_name, excluded))
            yield PointlessEntry(part, "restored_middleware", text, hint)
        below = merge_harness_profiles(below, profile)


def _hint(name: str, excluded: Iterable[str]) -> str:
    names = sorted(set(excluded))
    if not names:
        return "the layers below exclude none; drop the entry"
    return nearest_hint(name, names) or f"excluded below: {', '.join(names)}"


def with_named_factories(merged: HarnessProfile, parts: Sequence[ProfilePart]) -> HarnessProfile:
    """*merged* so that a factory of extra middleware that fails is named with its layer."""
    if any(callable(part.profile.extra_middleware) for part in parts):
        return evolve(merged, extra_middleware=_NamedFactories(tuple(parts)))
    return merged


@frozen
class _NamedFactories:
    """The factory of a merged profile: as if the parts were merged, layer by layer."""

    parts: tuple[ProfilePart, ...]

    __hash__ = None  # type: ignore[assignment]  # as the parts

    def __call__(self) -> list[Middleware]:
        merged: list[Middleware] = []
        for part in self.parts:
            merged = replace_matching(merged, self._made(part))
        return merged

    @staticmethod
    def _made(part: ProfilePart) -> list[Middleware]:
        try:
            return materialize(part.profile.extra_middleware)
        except Exception as error:
            error.add_note(f"raised by the factory of the layer {part.label}")
            raise


def static_extras(parts: Iterable[ProfilePart]) -> list[Middleware]:
    """The instances that the parts hold ready; all stacks share those."""
    return [
        item
        for part in parts
        if isinstance(part.profile.extra_middleware, tuple)
        for item in part.profile.extra_middleware
    ]
