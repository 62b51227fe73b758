"""The ``middleware.prompt-caching-anthropic`` plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_kernel.assembly.specs import MiddlewareSpec

PLUGIN = PluginInfo(summary="Prompt caching for Anthropic models.")


@hookimpl
def deepagents_middleware() -> MiddlewareSpec:
    """One slot in every stack: any session may switch to a Claude model."""
    from deepagents_builtin.middleware._caching.slot import caching_slot
    from deepagents_builtin.middleware.prompt_caching_anthropic.middleware import (
        AnthropicPromptCachingMiddleware,
    )

    return caching_slot(AnthropicPromptCachingMiddleware)
