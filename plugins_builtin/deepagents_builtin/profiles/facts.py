"""What is known of the models that built-in profiles name. Every row says where it was read.

Where a source is a file of an installed package, the version is the one that was read.
"""

from __future__ import annotations

from attrs import evolve

from deepagents_kernel.model_facts import ModelFacts

# -- Anthropic ------------------------------------------------------------------------------------

_CLAUDE_PROFILES = "langchain-anthropic 1.7.10, langchain_anthropic/data/_profiles.py"
_CLAUDE_CACHE = (
    "https://github.com/anthropics/skills/blob/0da71c3b54277f20e96146648444590eab1dc82c"
    "/skills/claude-api/shared/prompt-caching.md"
)
_CLAUDE_STOP = "https://platform.claude.com/docs/en/build-with-claude/handling-stop-reasons"

_CLAUDE = ModelFacts(
    image_input=True,
    pdf_input=True,
    audio_input=False,
    cache="explicit",
    cache_breakpoints=4,
    finish={
        "end_turn": "normal",
        "stop_sequence": "normal",
        "tool_use": "tool_use",
        "max_tokens": "cut_off",
        "model_context_window_exceeded": "cut_off",
        "refusal": "refused",
        "pause_turn": "paused",
    },
    sources=(_CLAUDE_PROFILES, _CLAUDE_CACHE, _CLAUDE_STOP),
)

#: Key to facts.
CLAUDE = {
    "anthropic:claude-opus-4-7": evolve(
        _CLAUDE, context_tokens=1_000_000, max_output_tokens=128_000, cache_min_tokens=2_048
    ),
    "anthropic:claude-sonnet-4-6": evolve(
        _CLAUDE, context_tokens=1_000_000, max_output_tokens=128_000, cache_min_tokens=1_024
    ),
    "anthropic:claude-haiku-4-5": evolve(
        _CLAUDE, context_tokens=200_000, max_output_tokens=64_000, cache_min_tokens=4_096
    ),
}

# -- OpenAI ---------------------------------------------------------------------------------------

_OPENAI_CACHE = "https://developers.openai.com/api/docs/guides/prompt-caching"
_OPENAI_CHAT = "openai 3.57.0, openai/types/chat/chat_completion.py"
_OPENAI_RESPONSES = "openai 3.57.0, openai/types/responses/response.py and response_status.py"
_OPENAI_PROFILES = "langchain-openai 1.7.4, langchain_openai/data/_profiles.py"

# Both formats: a model may be called by either, and their words don't contradict each other.
_OPENAI_FINISH = {
    "stop": "normal",
    "tool_calls": "tool_use",
    "function_call": "tool_use",
    "length": "cut_off",
    "completed": "normal",
    "max_output_tokens": "cut_off",
    "content_filter": "refused",
    "refusal": "refused",
}

_KOOG = (
    "https://api.koog.ai/prompt/prompt-executor/prompt-executor-clients/prompt-executor-openai-client/"
    "ai.koog.prompt.executor.clients.openai/-open-a-i-models/-chat/-g-p-t5_2-codex.html"
)

#: What holds for every model of the provider.
OPENAI = ModelFacts(
    cache="automatic",
    cache_min_tokens=1_024,
    finish=_OPENAI_FINISH,
    sources=(_OPENAI_CACHE, _OPENAI_CHAT, _OPENAI_RESPONSES),
)

_CODEX = evolve(OPENAI, image_input=True, pdf_input=True, sources=(*OPENAI.sources, _OPENAI_PROFILES))

#: Key to facts.
CODEX = {
    "openai:gpt-5.1-codex": evolve(
        _CODEX,
        context_tokens=400_000,
        max_input_tokens=272_000,
        sources=(*_CODEX.sources, "https://openrouter.ai/openai/gpt-5.1-codex"),
    ),
    "openai:gpt-5.2-codex": evolve(
        _CODEX,
        context_tokens=400_000,
        max_output_tokens=128_000,
        sources=(*_CODEX.sources, _KOOG),
    ),
    "openai:gpt-5.3-codex": evolve(
        _CODEX, context_tokens=400_000, max_output_tokens=128_000, audio_input=False
    ),
}

# -- Nemotron 3 Ultra -----------------------------------------------------------------------------

# How much context a host gives, and how much output, is the host's affair; what goes in is the model's.
_NEMOTRON = ModelFacts(
    image_input=False,
    pdf_input=False,
    audio_input=False,
    sources=(
        "https://docs.nvidia.com/nim/large-language-models/2.0.6/day-0/get-started-nemotron-3-ultra.html",
    ),
)
_NEMOTRON_NVIDIA = evolve(
    _NEMOTRON,
    context_tokens=1_000_000,
    max_output_tokens=65_536,
    sources=(
        *_NEMOTRON.sources,
        "langchain-nvidia-ai-endpoints 1.5.0, langchain_nvidia_ai_endpoints/data/_profiles.py",
    ),
)

#: Key to facts.
NEMOTRON = {
    "nvidia:nvidia/nemotron-3-ultra-550b-a55b": _NEMOTRON_NVIDIA,
    "together:nvidia/nemotron-3-ultra-550b-a55b": evolve(
        _NEMOTRON,
        context_tokens=1_000_000,
        sources=(*_NEMOTRON.sources, "https://together.ai/models/nvidia-nemotron-3-ultra"),
    ),
    "baseten:nvidia/NVIDIA-Nemotron-3-Ultra-550B-A55B": _NEMOTRON,
    "fireworks:accounts/fireworks/models/nemotron-3-ultra-nvfp4": _NEMOTRON,
    "fireworks:accounts/fireworks/models/nemotron-3-ultra-bf16": _NEMOTRON,
    "openrouter:nvidia/nemotron-3-ultra-550b-a55b": _NEMOTRON,
    "nebius:nvidia/Nemotron-3-Ultra-550b-a55b": _NEMOTRON,
}
