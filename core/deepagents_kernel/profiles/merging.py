"""Stacking one harness profile on another, field by field."""

from __future__ import annotations

from deepagents_kernel.profiles.exclusions import take_back
from deepagents_kernel.profiles.extras import merge_extras
from deepagents_kernel.profiles.harness import GeneralPurposeSubagentProfile, HarnessProfile


def merge_harness_profiles(base: HarnessProfile, override: HarnessProfile) -> HarnessProfile:
    """Stack *override* on *base*.

    Prompts: the override's unless ``None``. Descriptions: per tool. Exclusions: the base's without what the
    override restores, and the override's. Extra middleware: replaced by class or name, else appended.
    General-purpose sub-agent: per field.
    """
    return HarnessProfile(
        base_system_prompt=_over(base.base_system_prompt, override.base_system_prompt),
        system_prompt_suffix=_over(base.system_prompt_suffix, override.system_prompt_suffix),
        tool_description_overrides={**base.tool_description_overrides, **override.tool_description_overrides},
        excluded_tools=(base.excluded_tools - override.restored_tools) | override.excluded_tools,
        excluded_middleware=take_back(base.excluded_middleware, override.restored_middleware)
        | override.excluded_middleware,
        extra_middleware=merge_extras(base.extra_middleware, override.extra_middleware),
        general_purpose_subagent=_merge_general_purpose(
            base.general_purpose_subagent, override.general_purpose_subagent
        ),
        # Kept, so that the merged profile does the same to a layer below as its parts would in turn.
        restored_tools=base.restored_tools | override.restored_tools,
        restored_middleware=base.restored_middleware | override.restored_middleware,
    )


def _over(base: str | None, override: str | None) -> str | None:
    return base if override is None else override


def _merge_general_purpose(
    base: GeneralPurposeSubagentProfile | None, override: GeneralPurposeSubagentProfile | None
) -> GeneralPurposeSubagentProfile | None:
    if base is None or override is None:
        return override if base is None else base
    return GeneralPurposeSubagentProfile(
        enabled=base.enabled if override.enabled is None else override.enabled,
        description=_over(base.description, override.description),
        system_prompt=_over(base.system_prompt, override.system_prompt),
    )
