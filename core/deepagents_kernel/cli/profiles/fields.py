"""What profiles say, as rows: one for each thing said, with the layer that has the last word on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from deepagents_kernel.config.secrets import REDACTED, is_secret, shown
from deepagents_kernel.profiles.exclusions import known_name, take_back
from deepagents_kernel.profiles.provider import resolve_kwargs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from deepagents_kernel.profiles.harness import HarnessProfile
    from deepagents_kernel.profiles.provider import ProviderProfile

#: Where a keyword argument is: its name, and the keys of mappings within it.
Path = tuple[str, ...]

#: The field of a row that says why there is no profile.
FAILED = "profile"

_PLAIN = (str, bool, int, float, type(None))


@frozen
class Row:
    """One thing that is said.

    Attributes:
        field: name of the field, with what stands in it: ``init_kwargs.timeout``.
        value: its value, fit to be shown.
        layer: number of the layer that has the last word on it, counted from 1.
    """

    field: str
    value: Any
    layer: int

    def document(self, labels: Sequence[str]) -> dict[str, Any]:
        """The row as JSON data, with the name of its layer."""
        return {"field": self.field, "value": self.value, "layer": labels[self.layer - 1]}


@frozen(eq=False)
class Said:
    """What one layer says.

    Attributes:
        profile: the profile.
        expanded: path of a keyword argument to the variables that its value was made from.
        failure: why there is no profile, which is ``None`` then; empty for one that is there.
    """

    profile: Any
    expanded: Mapping[Path, tuple[str, ...]] = field(factory=dict)
    failure: str = ""


def _failed(said: Said, layer: int) -> Row:
    return Row(FAILED, f"failed: {said.failure}", layer)


# -- harness -----------------------------------------------------------------------------------------------


def harness_rows(layers: Sequence[Said]) -> list[Row]:
    """What the harness profiles of these layers, lowest first, say together."""
    rows: dict[tuple[str, object], Row] = {}
    for number, said in enumerate(layers, 1):
        if said.failure:
            rows[FAILED, number] = _failed(said, number)
            continue
        _add_texts(rows, number, said.profile)
        _add_exclusions(rows, number, said.profile)
        extras = said.profile.extra_middleware
        if extras != ():
            rows["extra_middleware", number] = Row("extra_middleware", _extras(extras), number)
    return list(rows.values())


def _add_texts(rows: dict[tuple[str, object], Row], layer: int, profile: HarnessProfile) -> None:
    found: dict[str, Any] = {
        "base_system_prompt": profile.base_system_prompt,
        "system_prompt_suffix": profile.system_prompt_suffix,
    }
    found |= {f"tool_description_overrides.{k}": v for k, v in profile.tool_description_overrides.items()}
    if profile.general_purpose_subagent is not None:
        given = profile.general_purpose_subagent.to_dict()
        found |= {f"general_purpose_subagent.{name}": value for name, value in given.items()}
    rows.update({(name, ""): Row(name, value, layer) for name, value in found.items() if value is not None})


def _add_exclusions(rows: dict[tuple[str, object], Row], layer: int, profile: HarnessProfile) -> None:
    for name in profile.restored_tools:
        rows.pop(("excluded_tools", name), None)
    before = {str(entry) for name, entry in rows if name == "excluded_middleware"}
    kept = {known_name(entry) for entry in take_back(before, profile.restored_middleware)}
    for name in before - kept:
        del rows["excluded_middleware", name]
    for name in ("excluded_tools", "excluded_middleware", "restored_tools", "restored_middleware"):
        for entry in sorted(map(known_name, getattr(profile, name))):
            rows[name, entry] = Row(name, entry, layer)


def _extras(extras: Any) -> str:
    if callable(extras):
        return f"made anew for each stack by {_named(extras)}"
    return ", ".join(type(item).__name__ for item in extras)


def _named(function: Any) -> str:
    # Of a partial, what it calls says more.
    function = getattr(function, "func", function)
    module = getattr(function, "__module__", type(function).__module__)
    name = getattr(function, "__qualname__", type(function).__qualname__)
    # A function within another one has a name that nobody can look up; its module can be.
    return f"a function of {module}" if "<" in name else f"{module}.{name}"


# -- provider ----------------------------------------------------------------------------------------------


def provider_rows(layers: Sequence[Said], *, made: bool) -> list[Row]:
    """What the provider profiles of these layers, lowest first, say together.

    Args:
        layers: the layers.
        made: also call the factories, as is done for each model; otherwise they are only named.
    """
    rows: dict[Path, Row] = {}
    for number, said in enumerate(layers, 1):
        if said.failure:
            rows[FAILED, str(number)] = _failed(said, number)
            continue
        profile: ProviderProfile = said.profile
        if profile.pre_init is not None:
            checked = f"checked by {_named(profile.pre_init)}"
            rows["pre_init", str(number)] = Row("pre_init", checked, number)
        kwargs: Mapping[str, Any] = profile.init_kwargs
        if profile.init_kwargs_factory is not None:
            answer = (
                _made(profile) if made else f"made for each model by {_named(profile.init_kwargs_factory)}"
            )
            if isinstance(answer, str):
                rows["init_kwargs_factory", str(number)] = Row("init_kwargs_factory", answer, number)
            else:
                kwargs = answer
        for path, value in _leaves(("init_kwargs",), kwargs):
            _put(rows, path, Row(".".join(path), _visible(path, value, said.expanded), number))
    return list(rows.values())


def _made(profile: ProviderProfile) -> Mapping[str, Any] | str:
    try:
        return resolve_kwargs(profile)
    except Exception as error:
        # A provider's complaint, such as a key that is not set; the model could not be made either.
        return f"failed: {type(error).__name__}: {shown('', str(error))}"


def _leaves(path: Path, value: Any) -> Iterator[tuple[Path, Any]]:
    if isinstance(value, Mapping) and (value or len(path) == 1):
        for name, item in value.items():
            yield from _leaves((*path, str(name)), item)
    else:
        yield path, value


def _put(rows: dict[Path, Row], path: Path, row: Row) -> None:
    """Set a row; what stands above or below it is replaced whole."""
    for other in [other for other in rows if _covers(other, path) or _covers(path, other)]:
        del rows[other]
    rows[path] = row


def _covers(outer: Path, inner: Path) -> bool:
    return inner[: len(outer)] == outer


def _visible(path: Path, value: Any, expanded: Mapping[Path, tuple[str, ...]]) -> Any:
    if any(map(is_secret, path)):
        return REDACTED
    variables = tuple(name for at, names in expanded.items() if _covers(at, path) for name in names)
    return shown(path[-1], _plain(value), variables)


def _plain(value: Any) -> Any:
    """*value* as JSON has it; of an object of a library only what it is, since its repr may tell secrets."""
    if isinstance(value, Mapping):
        return {str(name): _plain(item) for name, item in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(item) for item in value]
    return value if isinstance(value, _PLAIN) else f"<{type(value).__module__}.{type(value).__qualname__}>"
