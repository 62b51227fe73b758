"""Compose the system prompt of a stack: the caller's text, then the profile's base, then its suffix.

Only non-empty parts are joined, by one blank line; with none at all there is no system message, since some
providers reject an empty one. A ``SystemMessage`` keeps its blocks, and with them its cache markers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deepagents_kernel.assembly.specs import PromptPart
    from deepagents_kernel.profiles.harness import HarnessProfile

SEPARATOR = "\n\n"


def join(*parts: str | None) -> str:
    """The non-empty parts, a blank line between them."""
    return SEPARATOR.join(part for part in parts if part)


def main_prompt(user: Any, profile: HarnessProfile, parts: Sequence[PromptPart] = ()) -> Any:
    """The main agent's prompt.

    Args:
        user: ``system_prompt=`` of the caller: a string, a ``SystemMessage`` or ``None``.
        profile: gives base and suffix.
        parts: what plugins add.

    Returns:
        A string, a ``SystemMessage`` (the caller's own object if nothing is added to it), or ``None``.
    """
    return append(user, _overlay(profile.base_system_prompt, profile, parts))


def subagent_prompt(authored: str | None, profile: HarnessProfile, parts: Sequence[PromptPart] = ()) -> Any:
    """The prompt of a declared sub-agent: its own text, then base and suffix of *its* profile."""
    return join(authored, _overlay(profile.base_system_prompt, profile, parts)) or None


def general_purpose_prompt(
    authored: str | None, profile: HarnessProfile, parts: Sequence[PromptPart] = ()
) -> Any:
    """The general-purpose sub-agent's prompt.

    The profile's text for this agent wins over the profile's base, which wins over the built-in text; the
    suffix always comes on top.
    """
    special = profile.general_purpose_subagent
    base = profile.base_system_prompt if profile.base_system_prompt is not None else authored
    if special is not None and special.system_prompt is not None:
        base = special.system_prompt
    return _overlay(base, profile, parts) or None


def fork_prompt(parent: Any, authored: str | None) -> Any:
    """A fork's prompt: exactly its parent's, with the fork's own text behind it if it has one."""
    return append(parent, authored)


def append(prompt: Any, text: str | None) -> Any:
    """*prompt* with *text* behind it; the same object without text, ``None`` when there is nothing."""
    if _is_empty(prompt):
        return text or None
    if not text:
        return prompt
    if isinstance(prompt, str):
        return join(prompt, text)
    from deepagents_kernel.contracts.system_message import append_to_system_message

    return append_to_system_message(prompt, text)


def _is_empty(prompt: Any) -> bool:
    """Whether a prompt says nothing: some providers refuse a system message without content."""
    return not prompt if prompt is None or isinstance(prompt, str) else not prompt.content


def prompt_text(prompt: Any) -> str:
    """The text of a prompt in any of its forms."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return str(prompt.text)


def _overlay(base: str | None, profile: HarnessProfile, parts: Sequence[PromptPart]) -> str:
    bases = [part.text for part in parts if part.slot == "base"]
    suffixes = [part.text for part in parts if part.slot == "suffix"]
    return join(base, *bases, profile.system_prompt_suffix, *suffixes)
