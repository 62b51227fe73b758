"""The stand-in for the prompt caching middleware of ``langchain_anthropic``."""

from __future__ import annotations

from deepagents_builtin.middleware._caching.provider import CachingProvider
from deepagents_builtin.middleware._caching.standin import LazyPromptCachingMiddleware

PROVIDER = CachingProvider("langchain_anthropic", "AnthropicPromptCachingMiddleware")


class AnthropicPromptCachingMiddleware(LazyPromptCachingMiddleware):
    """Marks what a Claude model may cache: the system prompt, the tools and the conversation."""

    provider = PROVIDER
