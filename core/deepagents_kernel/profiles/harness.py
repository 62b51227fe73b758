"""``HarnessProfile``: how an agent runs on the models of a provider, or on one model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import Attribute, field, frozen

from deepagents_kernel.errors import ProfileTypeError, nearest_hint
from deepagents_kernel.profiles import fields
from deepagents_kernel.profiles.extras import Extras, materialize, stored_extras

if TYPE_CHECKING:
    from langchain.agents.middleware.types import AgentMiddleware

    Middleware: TypeAlias = AgentMiddleware[Any, Any, Any]


@frozen
class GeneralPurposeSubagentProfile:
    """What a profile says about the general-purpose sub-agent; ``None`` leaves it to the layer below.

    Attributes:
        enabled: ``False`` leaves the sub-agent out, ``True`` brings back what a lower layer left out.
        description: what the main agent reads about it; an empty string counts as given.
        system_prompt: its prompt; an empty string counts as given.

    Raises:
        ProfileTypeError: a field has the wrong type.
    """

    enabled: bool | None = field(default=None, validator=fields.optional_flag)
    description: str | None = field(default=None, validator=fields.optional_text)
    system_prompt: str | None = field(default=None, validator=fields.optional_text)

    def to_dict(self) -> dict[str, Any]:
        """Plain data with the fields that are set."""
        values = {
            "enabled": self.enabled,
            "description": self.description,
            "system_prompt": self.system_prompt,
        }
        return {name: value for name, value in values.items() if value is not None}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> GeneralPurposeSubagentProfile:
        """The profile written as plain data; ``None`` for a field means that it is not set.

        Raises:
            ProfileTypeError: not a mapping, an unknown key, or a value of the wrong type.
        """
        checked = known_keys(data, ("enabled", "description", "system_prompt"), "general_purpose_subagent")
        return cls(**checked)


def known_keys(data: Mapping[str, Any], known: Iterable[str], where: str) -> dict[str, Any]:
    """*data* as a dictionary, if it is a mapping with known keys only.

    Args:
        data: what a file or a caller gave.
        known: the keys that are allowed.
        where: what the data is, for the error text.

    Raises:
        ProfileTypeError: it is not a mapping, or has unknown keys; all are named, sorted.
    """
    given: object = data
    if not isinstance(given, Mapping):
        raise ProfileTypeError(f"{where}: expected a mapping, got {type(given).__name__}")
    allowed = tuple(known)
    unknown = sorted((key for key in given if key not in allowed), key=str)
    if unknown:
        lines = [f"{where}: unknown keys {', '.join(map(repr, unknown))}"]
        lines += [f"{key}: {hint}" for key in unknown if (hint := nearest_hint(str(key), allowed))]
        raise ProfileTypeError("\n  ".join([*lines, f"known: {', '.join(allowed)}"]))
    return dict(given)


def check_general_purpose(instance: object, _attribute: Attribute[Any], value: object) -> None:
    """Validator: a ``GeneralPurposeSubagentProfile`` or ``None``."""
    if value is not None and not isinstance(value, GeneralPurposeSubagentProfile):
        where = f"{type(instance).__name__}.general_purpose_subagent"
        hint = "build it with GeneralPurposeSubagentProfile(...)"
        raise ProfileTypeError(
            f"{where}: expected GeneralPurposeSubagentProfile or None, got {type(value).__name__}\n  {hint}"
        )


# The types that attrs shows to callers; the converters behind them do the checking.
def _excluded(value: Iterable[type[Middleware] | str]) -> frozenset[type[Middleware] | str]:
    return fields.excluded_middleware(value)


def _restored(value: Iterable[type[Middleware] | str]) -> frozenset[type[Middleware] | str]:
    return fields.restored_middleware(value)


def _extras(value: Iterable[Middleware] | Callable[[], Iterable[Middleware]]) -> Extras:
    return stored_extras(value)


@frozen
class HarnessProfile:
    """How an agent runs: prompt, tools, middleware, general-purpose sub-agent.

    Profiles compare by value, have no hash, and can't be changed. An empty string is a value, ``None`` is
    none.

    Attributes:
        base_system_prompt: stands in the place of the base prompt.
        system_prompt_suffix: stands at the end of the prompt.
        tool_description_overrides: tool name to the description that the model reads instead.
        excluded_tools: tools that the model is not offered and can't call.
        excluded_middleware: middleware to leave out; a class matches exactly that class, a string the
            ``.name``.
        extra_middleware: middleware to add; instances are shared by all stacks, a factory makes new ones for
            each.
        general_purpose_subagent: what becomes of the general-purpose sub-agent.
        restored_tools: tools that a lower layer excluded and this one offers again.
        restored_middleware: middleware that a lower layer excluded and this one takes back in. Both act
            on lower layers only: what this same profile excludes stays excluded.

    Raises:
        ProfileTypeError: a field has the wrong type.
        ProfileError: a name of a tool or middleware is blank or malformed, or an excluded one is
            scaffolding; all such entries of a field are named at once.
    """

    base_system_prompt: str | None = field(default=None, validator=fields.optional_text)
    system_prompt_suffix: str | None = field(default=None, validator=fields.optional_text)
    tool_description_overrides: Mapping[str, str] = field(
        factory=dict, converter=fields.tool_description_overrides
    )
    excluded_tools: frozenset[str] = field(default=frozenset(), converter=fields.excluded_tools)
    excluded_middleware: frozenset[type[Middleware] | str] = field(default=frozenset(), converter=_excluded)
    extra_middleware: Extras = field(default=(), converter=_extras)
    general_purpose_subagent: GeneralPurposeSubagentProfile | None = field(
        default=None, validator=check_general_purpose
    )
    restored_tools: frozenset[str] = field(default=frozenset(), converter=fields.restored_tools, kw_only=True)
    restored_middleware: frozenset[type[Middleware] | str] = field(
        default=frozenset(), converter=_restored, kw_only=True
    )

    __hash__ = None  # type: ignore[assignment]  # the way to say "unhashable"; typeshed has no word for it

    def materialize_extra_middleware(self) -> list[Middleware]:
        """The extra middleware as a new list; a factory is called each time.

        Raises:
            ProfileTypeError: the factory did not return a list of instances.
            Exception: whatever the factory raises.
        """
        return materialize(self.extra_middleware)
