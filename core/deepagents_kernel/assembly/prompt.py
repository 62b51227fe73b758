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
    """*prompt* with *text* behind it; the same object when there is no text."""
    if not text:
        return prompt or None
    if not prompt:
        return text
    if isinstance(prompt, str):
        return join(prompt, text)
    # A copy with one more block: id, additional_kwargs and response_metadata stay, the caller's object too.
    blocks: list[Any] = [prompt.content] if isinstance(prompt.content, str) else list(prompt.content)
    blocks = [
        {"type": "text", "text": block} if isinstance(block, str) else block for block in blocks if block
    ]
    lead = SEPARATOR if blocks else ""
    return prompt.model_copy(update={"content": [*blocks, {"type": "text", "text": f"{lead}{text}"}]})


def prompt_text(prompt: Any) -> str:
    """The text of a prompt in any of its forms."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return str(prompt.text)


def _overlay(base: str | None, profile: HarnessProfile, parts: Sequence[PromptPart]) -> str:
    bases = [part.text for part in parts if part.slot == "base"]
    suffixes = [part.text for part in parts if part.slot == "suffix"]
    return join(base, *bases, profile.system_prompt_suffix, *suffixes)
