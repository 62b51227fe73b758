"""The ``middleware.prompt-caching-bedrock`` plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_kernel.assembly.specs import MiddlewareSpec

PLUGIN = PluginInfo(summary="Prompt caching for Amazon Bedrock models.")


@hookimpl
def deepagents_middleware() -> MiddlewareSpec:
    """One slot in every stack, vacant unless ``langchain-aws`` is installed with its caching module."""
    from deepagents_builtin.middleware._caching.provider import is_installed
    from deepagents_builtin.middleware._caching.slot import caching_slot
    from deepagents_builtin.middleware.prompt_caching_bedrock.middleware import (
        PROVIDER,
        BedrockPromptCachingMiddleware,
    )

    return caching_slot(BedrockPromptCachingMiddleware, vacant=not is_installed(PROVIDER))
