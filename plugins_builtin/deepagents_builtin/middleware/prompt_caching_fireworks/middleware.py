"""The stand-in for the prompt caching middleware of ``langchain_fireworks``."""

from __future__ import annotations

from deepagents_builtin.middleware._caching.provider import CachingProvider
from deepagents_builtin.middleware._caching.standin import LazyPromptCachingMiddleware

PROVIDER = CachingProvider("langchain_fireworks", "FireworksPromptCachingMiddleware")


class FireworksPromptCachingMiddleware(LazyPromptCachingMiddleware):
    """Keeps the calls of one thread on one Fireworks replica, whose cache is warm."""

    provider = PROVIDER
