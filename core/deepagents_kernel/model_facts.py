"""What is known of a model: sizes, what may go in, how its prompt cache works, how it says that it stopped.

The kernel holds no facts. Plugins give rows, each with the place where it was read
(``deepagents_model_facts``), and users correct them (setting ``model_facts`` of ``kernel``). What nobody
knows is ``None``, which is not the same as no.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, cast

from attrs import Attribute, evolve, field, frozen, validators

from deepagents_kernel.errors import HookError
from deepagents_kernel.profiles.keys import check_key
from deepagents_kernel.profiles.names import as_reported, read_name, undated

if TYPE_CHECKING:
    from collections.abc import Iterator

    from deepagents_kernel.kernel import Kernel

#: What a finish signal may mean.
MEANINGS = ("normal", "tool_use", "cut_off", "refused", "paused")

_HOOK = "deepagents_model_facts"
_FLAG = validators.optional(validators.instance_of(bool))


def _count(_facts: ModelFacts, attribute: Attribute[Any], value: object) -> None:
    if value is None:
        return
    if not isinstance(value, int) or isinstance(value, bool):
        msg = f"{attribute.name}: expected a number of at least 1, got {value!r} ({type(value).__name__})"
        raise TypeError(msg)
    if value < 1:
        msg = f"{attribute.name}: expected a number of at least 1, got {value}"
        raise ValueError(msg)


def _read_only(value: Any) -> Any:
    return MappingProxyType(dict(value)) if isinstance(value, Mapping) else value


def _check_finish(_facts: ModelFacts, _attribute: Attribute[Any], value: object) -> None:
    if not isinstance(value, Mapping):
        msg = f"finish: expected a mapping from signal to meaning, got {type(value).__name__}"
        raise TypeError(msg)
    signals = [repr(signal) for signal in value if not isinstance(signal, str) or not signal]
    if signals:
        msg = f"finish: a signal is a text that is not empty, got {', '.join(signals)}"
        raise TypeError(msg)
    wrong = sorted(str(meaning) for meaning in value.values() if meaning not in MEANINGS)
    if wrong:
        msg = f"finish: unknown meanings {', '.join(wrong)}; known: {', '.join(MEANINGS)}"
        raise ValueError(msg)


def _sources(value: Iterable[str] | str) -> tuple[str, ...]:
    """One source or several; one that is empty is none."""
    given: object = (value,) if isinstance(value, str) else value
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        msg = f"sources: expected a text or a list of texts, got {given!r} ({type(given).__name__})"
        raise TypeError(msg)
    sources = tuple(given)
    wrong = [repr(source) for source in sources if not isinstance(source, str)]
    if wrong:
        msg = f"sources: expected texts, got {', '.join(wrong)}"
        raise TypeError(msg)
    return tuple(source for source in sources if source.strip())


@frozen
class ModelFacts:
    """What is known of a model, or of all models of a provider; ``None`` is not known.

    Attributes:
        context_tokens: size of the context window, input and output together.
        max_input_tokens: the most that may go in, where that is less than the window.
        max_output_tokens: the most that comes out of one call.
        image_input: whether images may go in.
        pdf_input: whether PDF files may go in.
        audio_input: whether sound may go in.
        cache: how prompts are cached: at ``explicit`` breakpoints that the request sets, ``automatic``, or
            ``none``.
        cache_min_tokens: prompts shorter than this are not cached.
        cache_breakpoints: the most breakpoints of one request.
        finish: read-only; signal to what it means: ``normal``, ``tool_use``, ``cut_off``, ``refused``,
            ``paused``.
        sources: where this was read: addresses of pages, or a file and the version of its package.
    """

    context_tokens: int | None = field(default=None, validator=_count)
    max_input_tokens: int | None = field(default=None, validator=_count)
    max_output_tokens: int | None = field(default=None, validator=_count)
    image_input: bool | None = field(default=None, validator=_FLAG)
    pdf_input: bool | None = field(default=None, validator=_FLAG)
    audio_input: bool | None = field(default=None, validator=_FLAG)
    cache: Literal["explicit", "automatic", "none"] | None = field(
        default=None, validator=validators.optional(validators.in_(("explicit", "automatic", "none")))
    )
    cache_min_tokens: int | None = field(default=None, validator=_count)
    cache_breakpoints: int | None = field(default=None, validator=_count)
    finish: Mapping[str, str] = field(factory=dict, converter=_read_only, validator=_check_finish, hash=False)
    sources: tuple[str, ...] = field(default=(), converter=_sources)


_PLAIN = tuple(name for name in ModelFacts.__annotations__ if name not in ("finish", "sources"))


def merge_facts(base: ModelFacts, over: ModelFacts) -> ModelFacts:
    """*base* with what *over* knows on top; signals are merged one by one, sources are kept of both."""
    known = {name: value for name in _PLAIN if (value := getattr(over, name)) is not None}
    sources = dict.fromkeys((*base.sources, *over.sources))
    return evolve(base, **known, finish={**base.finish, **over.finish}, sources=tuple(sources))


def facts_for(kernel: Kernel, model: Any) -> ModelFacts:
    """What is known of a model.

    What is more specific wins: facts of the provider, then those of the model, each from plugins in their
    order, then from settings.

    Args:
        kernel: whose plugins and settings are asked.
        model: a spec such as ``openai:gpt-5.4``, or a chat model, which is asked what it is.

    Returns:
        The facts, all of them unknown where nobody knows the model.

    Raises:
        HookError: a plugin gave something else than rows with sources.
    """
    keys = _keys(model)
    if not keys:
        return ModelFacts()
    rows = (*_given(kernel), *_set_by_user(kernel))
    found = [facts for key in keys for name, facts in rows if name == key]
    return reduce(merge_facts, found, ModelFacts())


def finish_signal(message: Any) -> str | None:
    """The word by which a provider said why this answer ended, or ``None``.

    Args:
        message: an answer of a chat model.
    """
    if _refuses(message):
        return "refusal"
    said = getattr(message, "response_metadata", {})
    details = said.get("incomplete_details")
    reason = details.get("reason") if isinstance(details, Mapping) else None
    words = (reason, said.get("stop_reason"), said.get("finish_reason"), said.get("status"))
    return next((word for word in words if isinstance(word, str) and word), None)


def _refuses(message: Any) -> bool:
    """Whether the answer consists of a refusal, which is no signal of its own in OpenAI's formats."""
    if getattr(message, "additional_kwargs", {}).get("refusal"):
        return True
    content = getattr(message, "content", "")
    parts = content if isinstance(content, list) else []
    return any(isinstance(part, Mapping) and part.get("type") == "refusal" for part in parts)


def finish_meaning(message: Any, facts: ModelFacts) -> str | None:
    """What the end of an answer means: one of :data:`MEANINGS`, or ``None`` for a signal nobody knows.

    Args:
        message: an answer of a chat model.
        facts: what is known of that model.
    """
    meaning = facts.finish.get(finish_signal(message) or "")
    # Some formats end an answer with tool calls like any other.
    called = bool(getattr(message, "tool_calls", None))
    return "tool_use" if meaning == "normal" and called else meaning


def _keys(model: Any) -> tuple[str, ...]:
    """The keys that hold for a model, the most general first; names are read as for profiles."""
    if isinstance(model, str):
        parts = read_name(model)
        provider, name = parts or ("", None)
    else:
        from deepagents_kernel.models import get_model_identifier, get_model_provider

        provider, name = get_model_provider(model) or "", get_model_identifier(model)
    if not provider:
        return ()
    provider = as_reported(provider)
    names = () if name is None else (f"{provider}:{undated(name)}", f"{provider}:{name}")
    return tuple(dict.fromkeys((provider, *names)))


def _normalised(key: str) -> str:
    provider, colon, model = check_key(key, "model facts").partition(":")
    return f"{as_reported(provider)}{colon}{model}"


def _given(kernel: Kernel) -> Iterator[tuple[str, ModelFacts]]:
    for item in kernel.hooks(_HOOK):
        row = item.value
        if not isinstance(row, tuple) or len(row) != 2 or not isinstance(row[1], ModelFacts):
            reason = f"returned {row!r:.60}; a list of (key, ModelFacts) pairs is expected"
            raise HookError(item.plugin, _HOOK, "", reason)
        key, facts = cast("tuple[str, ModelFacts]", row)
        if not facts.sources:
            raise HookError(item.plugin, _HOOK, "", f"the facts of {key!r} name no source")
        yield _normalised(key), facts


def _set_by_user(kernel: Kernel) -> Iterator[tuple[str, ModelFacts]]:
    from deepagents_kernel.assembly.compile import KernelSettings

    for key, facts in kernel.settings(KernelSettings).model_facts.items():
        yield _normalised(key), evolve(facts, sources=facts.sources or ("settings",))
