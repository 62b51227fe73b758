"""``HarnessProfileConfig``: the part of a harness profile that can be written into a file."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import field, frozen
from attrs import fields as attrs_fields

from deepagents_kernel.errors import ProfileError, ProfileTypeError
from deepagents_kernel.profiles import fields
from deepagents_kernel.profiles.exclusions import exported_names
from deepagents_kernel.profiles.harness import (
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    check_general_purpose,
    known_keys,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

_SETS = ("excluded_tools", "excluded_middleware", "restored_tools", "restored_middleware")


@frozen
class HarnessProfileConfig:
    """A harness profile of plain data: no classes, no middleware objects.

    Attributes:
        base_system_prompt, system_prompt_suffix, tool_description_overrides, excluded_tools,
            general_purpose_subagent, restored_tools: as in :class:`HarnessProfile`.
        excluded_middleware, restored_middleware: the same, names only.

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
    excluded_middleware: frozenset[str] = field(default=frozenset(), converter=fields.excluded_names)
    general_purpose_subagent: GeneralPurposeSubagentProfile | None = field(
        default=None, validator=check_general_purpose
    )
    restored_tools: frozenset[str] = field(default=frozenset(), converter=fields.restored_tools, kw_only=True)
    restored_middleware: frozenset[str] = field(
        default=frozenset(), converter=fields.restored_names, kw_only=True
    )

    __hash__ = None  # type: ignore[assignment]  # the way to say "unhashable"; typeshed has no word for it

    def to_dict(self) -> dict[str, Any]:
        """Plain data, safe for JSON and YAML: what is set, with sets as sorted lists."""
        data: dict[str, Any] = {}
        for name in ("base_system_prompt", "system_prompt_suffix"):
            if (text := getattr(self, name)) is not None:
                data[name] = text
        if self.tool_description_overrides:
            data["tool_description_overrides"] = dict(self.tool_description_overrides)
        data.update({name: sorted(names) for name in _SETS if (names := getattr(self, name))})
        if self.general_purpose_subagent is not None:
            data["general_purpose_subagent"] = self.general_purpose_subagent.to_dict()
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> HarnessProfileConfig:
        """The profile written as plain data; ``None`` for a field means that it is not set.

        Args:
            data: as :meth:`to_dict` writes it; sets may also be given as tuples or sets.

        Raises:
            ProfileTypeError: not a mapping, unknown keys, or a value of the wrong type.
            ProfileError: a name that can't be excluded or restored.
        """
        checked = known_keys(data, [attribute.name for attribute in attrs_fields(cls)], "harness profile")
        values = {name: value for name, value in checked.items() if value is not None}
        if "general_purpose_subagent" in values:
            values["general_purpose_subagent"] = GeneralPurposeSubagentProfile.from_dict(
                values["general_purpose_subagent"]
            )
        return cls(**values)

    def to_harness_profile(self) -> HarnessProfile:
        """The same as a :class:`HarnessProfile`; nothing is lost."""
        return HarnessProfile(
            base_system_prompt=self.base_system_prompt,
            system_prompt_suffix=self.system_prompt_suffix,
            tool_description_overrides=self.tool_description_overrides,
            excluded_tools=self.excluded_tools,
            excluded_middleware=self.excluded_middleware,
            general_purpose_subagent=self.general_purpose_subagent,
            restored_tools=self.restored_tools,
            restored_middleware=self.restored_middleware,
        )

    @classmethod
    def from_harness_profile(cls, profile: HarnessProfile) -> HarnessProfileConfig:
        """What can be written of *profile*, if that is all of it.

        Classes are written by their ``serialized_name``.

        Raises:
            ProfileError: the profile adds middleware, or names a class that has no usable alias.
        """
        if profile.extra_middleware != ():
            raise ProfileError(
                "extra_middleware: objects and factories can't be written into a file\n"
                "  keep the profile in code, or ship the middleware as a plugin of its own"
            )
        return cls(
            base_system_prompt=profile.base_system_prompt,
            system_prompt_suffix=profile.system_prompt_suffix,
            tool_description_overrides=profile.tool_description_overrides,
            excluded_tools=profile.excluded_tools,
            excluded_middleware=exported_names(profile.excluded_middleware, "excluded_middleware"),
            general_purpose_subagent=profile.general_purpose_subagent,
            restored_tools=profile.restored_tools,
            restored_middleware=exported_names(profile.restored_middleware, "restored_middleware"),
        )


def as_harness_profile(profile: HarnessProfile | HarnessProfileConfig) -> HarnessProfile:
    """*profile* in the form that is merged and looked up.

    Raises:
        ProfileTypeError: it is neither form of a harness profile.
    """
    given: object = profile
    if isinstance(given, HarnessProfileConfig):
        return given.to_harness_profile()
    if isinstance(given, HarnessProfile):
        return given
    raise ProfileTypeError(
        f"harness profile: expected HarnessProfile or HarnessProfileConfig, got {type(given).__name__}"
        "\n  plain data becomes one with HarnessProfileConfig.from_dict(...)"
    )
