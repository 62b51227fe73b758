"""Which keys answer to a model string, and why: the words to the rule of the lookup."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import frozen

from deepagents_kernel.profiles.names import inferred_provider, one_spelling, read_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.profiles.keys import SpecParts
    from deepagents_kernel.profiles.shelf import Shelf


@frozen
class Match:
    """A key that answers to a model string.

    Attributes:
        key: the key, as it is registered.
        why: why it answers.
    """

    key: str
    why: str

    def document(self) -> dict[str, str]:
        """The match as JSON data."""
        return {"key": self.key, "why": self.why}


@frozen
class Reading:
    """What a model string is taken for.

    Attributes:
        spec: the string.
        parts: provider and model; ``None`` for a string that no key can answer to.
    """

    spec: str
    parts: SpecParts | None

    @property
    def inferred(self) -> bool:
        """Whether the string does not name the provider."""
        return self.parts is not None and self.parts.model == self.spec

    def describe(self) -> str:
        """The reading in words."""
        if self.parts is None:
            return "no name of a model: no profile answers to it"
        if self.parts.model is None:
            return f"a name without a provider; it is looked up as {self.spec!r}"
        told = " (told by the name)" if self.inferred else ""
        return f"model {self.parts.model} of provider {self.parts.provider}{told}"

    def document(self) -> dict[str, Any]:
        """The reading as JSON data."""
        provider, model = self.parts or ("", None)
        return {"provider": provider, "model": model or "", "inferred": self.inferred}


def read_spec(spec: str) -> Reading:
    """Take a model string apart, as lookups do."""
    return Reading(spec, read_name(spec))


def matches(shelf: Shelf[Any], reading: Reading) -> list[Match]:
    """The keys of a shelf that answer, lowest first."""
    return list(dict.fromkeys(_matches(shelf, reading)))


def _matches(shelf: Shelf[Any], reading: Reading) -> Iterator[Match]:
    parts = reading.parts
    if parts is None:
        return
    below = shelf.find(parts.provider)
    if below is not None:
        yield Match(below, _provider_words(below, parts))
    if parts.model is not None:
        exact = shelf.find(*parts)
        if exact is not None and exact != below:
            yield Match(exact, _model_words(exact, reading))


def _provider_words(key: str, parts: SpecParts) -> str:
    if parts.model is None:
        return "the name itself" if key == parts.provider else "another spelling of the name"
    every = f"all models of {parts.provider}"
    return every if key == parts.provider else f"{every}, in another spelling"


def _model_words(key: str, reading: Reading) -> str:
    if key == reading.spec:
        return "exactly this string"
    wanted, found = reading.parts, read_name(key)
    if wanted is None or found is None:
        return "the same model"
    words = []
    if found.model != wanted.model:
        words.append("the name without the day of its release")
    if reading.inferred:
        words.append(f"the bare name is one of {inferred_provider(reading.spec)}")
    elif found.model == key:
        words.append(f"the key is a bare name, which is one of {found.provider}")
    elif one_spelling(found.provider) != found.provider or found.provider != wanted.provider:
        words.append("another spelling of the provider")
    return "; ".join(words) or "the same model"
