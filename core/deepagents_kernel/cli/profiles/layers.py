"""The layers of a kernel's profiles, with names that a user finds again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.cli.profiles.fields import Said
from deepagents_kernel.errors import ProfileError
from deepagents_kernel.profiles.shelf import LazyProfile

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.profiles.registry import Kind
    from deepagents_kernel.profiles.shelf import Layer

#: Both sorts, in the order in which they come into effect: first the model is made, then the agent.
KINDS: tuple[Kind, ...] = ("provider", "harness")

_PROGRAM = "this program"


@frozen(eq=False)
class KeyLayer:
    """One registration under a key.

    Attributes:
        key: the key, as it is registered.
        owner: the plugin, or the place in a file.
        target: where a profile is that is imported when a model uses it; empty for one that is there.
        layer: the registration.
        expanded: path of a keyword argument to the variables that its value was made from.
    """

    key: str
    owner: str
    target: str
    layer: Layer[Any]
    expanded: Mapping[tuple[str, ...], tuple[str, ...]]

    @property
    def label(self) -> str:
        """Key and owner in words."""
        return f"{self.key} ({self.owner})"

    def said(self) -> Said:
        """What it says; the profile is imported now if it has to be. One that can't be says why."""
        try:
            return Said(self.layer.profile, self.expanded)
        except ProfileError as error:
            return Said(None, failure=str(error))

    def document(self) -> dict[str, Any]:
        """The layer as JSON data."""
        return {"key": self.key, "owner": self.owner, "lazy": bool(self.target), "target": self.target}


def key_layers(kernel: Kernel, kind: Kind, key: str) -> list[KeyLayer]:
    """The registrations under *key*, lowest first; none of them is imported."""
    shelf = kernel.profiles.snapshot().shelf(kind)
    written = shelf.written(key) or key
    return [
        KeyLayer(
            written,
            layer.owner or _PROGRAM,
            layer.given.target if isinstance(layer.given, LazyProfile) else "",
            layer,
            _expanded(kernel, kind, layer.owner),
        )
        for layer in shelf.registered(key)
    ]


def _expanded(kernel: Kernel, kind: Kind, owner: str) -> dict[tuple[str, ...], tuple[str, ...]]:
    """The variables in what a file says: without them a secret could hide behind a harmless name."""
    for source in kernel.configuration.sources:
        for row in source.profiles:
            start = ("profiles", row.kind, row.key)
            if row.kind == kind and source.where(*start) == owner:
                found = source.expanded.items()
                return {at[len(start) :]: names for at, names in found if at[: len(start)] == start}
    return {}
