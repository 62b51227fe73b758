"""The stand-in for the prompt caching middleware of ``langchain_aws``."""

from __future__ import annotations

from deepagents_builtin.middleware._caching.provider import CachingProvider
from deepagents_builtin.middleware._caching.standin import LazyPromptCachingMiddleware

PROVIDER = CachingProvider("langchain_aws", "BedrockPromptCachingMiddleware")


class BedrockPromptCachingMiddleware(LazyPromptCachingMiddleware):
    """Marks what a model on Amazon Bedrock may cache."""

    provider = PROVIDER
