"""Names of models: whose a bare one is, which spellings of a provider are one, what a dated one is of.

One reading for keys, model strings and model objects, so that a profile is found whichever way a model is
named. No row without a source: each table says where its rows were read.
"""

from __future__ import annotations

import re

from deepagents_kernel.profiles.keys import SpecParts, split_spec

# How a name starts, and the provider that LangChain's init_chat_model then takes it for: langchain 1.5.2,
# langchain/chat_models/base.py. A test holds the table against the installed version.
_BY_START = {
    "gpt-": "openai",
    "o1": "openai",
    "o3": "openai",
    "chatgpt": "openai",
    "text-davinci": "openai",
    "claude": "anthropic",
    "command": "cohere",
    "accounts/fireworks": "fireworks",
    "gemini": "google_vertexai",
    "amazon.": "bedrock",
    "anthropic.": "bedrock",
    "meta.": "bedrock",
    "mistral": "mistralai",
    "mixtral": "mistralai",
    "deepseek": "deepseek",
    "grok": "xai",
    "sonar": "perplexity",
    "solar": "upstage",
}
# Providers whose own name starts like that of a model.
_PROVIDERS = frozenset({"deepseek", "mistral", "mistralai"})

# What a provider is called in model strings, and what its models report. AzureChatOpenAI: langchain-openai
# 1.7.4, chat_models/azure.py. ChatMistralAI: langchain-mistralai, chat_models.py.
_SPELLINGS = {"azure_openai": "azure", "mistralai": "mistral"}
# ChatBedrock and ChatBedrockConverse are constructed differently and report the same: langchain-aws,
# chat_models/bedrock.py and chat_models/bedrock_converse.py.
_REPORTED = {**_SPELLINGS, "bedrock": "amazon_bedrock", "bedrock_converse": "amazon_bedrock"}

# The day of a release, or the word for the newest one: claude-haiku-4-5-20251001, gpt-5.4-2026-03-05,
# claude-sonnet-4-5@20250929, mistral-large-latest.
_DAY = r"(?P<dash>-?)(?:0[1-9]|1[0-2])(?P=dash)(?:0[1-9]|[12]\d|3[01])"
_RELEASE = re.compile(rf"[-@](?:20\d\d{_DAY}|latest)\Z")


def inferred_provider(name: str) -> str | None:
    """The provider that LangChain takes a model of this name for, if nobody says which; ``None`` for none."""
    lowered = name.lower()
    if lowered.replace("-", "_") in _PROVIDERS:
        return None
    return next((provider for start, provider in _BY_START.items() if lowered.startswith(start)), None)


def read_name(spec: object) -> SpecParts | None:
    """The provider and the model that a key or a model string means.

    A name without a provider gets the one that :func:`inferred_provider` tells. A colon splits off the
    provider, except in an identifier of Bedrock: the ``:0`` of ``anthropic.claude-opus-4-7-v1:0`` is part of
    the name.

    Returns:
        Both parts; without a model for the name of a provider; ``None`` for what no key can answer to.
    """
    parts = split_spec(spec)
    if parts is None or not isinstance(spec, str):
        return None
    dotted = "." in parts.provider
    if parts.model is not None and not dotted:
        return parts
    provider = inferred_provider(spec)
    if provider is None or (parts.model is not None and provider != "bedrock"):
        return parts
    return SpecParts(provider, spec)


def one_spelling(provider: str) -> str:
    """*provider* in the one spelling that stands for all that mean the same."""
    name = provider.lower().replace("-", "_")
    return _SPELLINGS.get(name, name)


def as_reported(provider: str) -> str:
    """The same, as the models of the provider report it: two ways to construct them are one provider here."""
    name = provider.lower().replace("-", "_")
    return _REPORTED.get(name, name)


def undated(model: str) -> str:
    """*model* without the day of its release, or ``latest``, at its end; the same where neither stands."""
    return _RELEASE.sub("", model) or model
