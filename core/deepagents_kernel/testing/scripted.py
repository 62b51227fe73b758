"""A chat model that plays turns written down in advance and records what it was asked.

It takes part in a real agent loop: it streams, binds tools, reports usage and can fail on purpose.

    model = ScriptedChatModel([[("ls", {"path": "/"})], "done"])
    create_deep_agent(model).invoke({"messages": "look around"})
    assert model.requests[0].tool_names == ("ls", ...)
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from attrs import frozen
from langchain_core.messages import AIMessage, BaseMessage, SystemMessage, ToolCall
from langchain_core.messages.ai import UsageMetadata
from langchain_core.messages.tool import tool_call
from langchain_core.utils.function_calling import convert_to_openai_tool
from pydantic import PrivateAttr

from deepagents_kernel.errors import DeepAgentsError
from deepagents_kernel.testing.local import LocalChatModel
from deepagents_kernel.testing.wire import tool_name

if TYPE_CHECKING:
    from langchain_core.language_models import LanguageModelInput
    from langchain_core.runnables import Runnable

#: What the model reports as input, for each message of the request; cheap and the same on every machine.
TOKENS_A_MESSAGE = 10

Call: TypeAlias = tuple[str, Mapping[str, Any]] | Mapping[str, Any]
TurnFunction: TypeAlias = Callable[[list[BaseMessage], tuple[Any, ...]], Any]
Turn: TypeAlias = AIMessage | str | Sequence[Call] | Call | BaseException | TurnFunction


class ScriptExhaustedError(DeepAgentsError, RuntimeError):
    """A scripted model was called more often than it has turns.

    Attributes:
        turns: how many turns the script has.
        call: which call this was, counted from 1.
        last_message: the message that it should have answered, or ``None``.
    """

    def __init__(self, turns: int, call: int, last_message: BaseMessage | None) -> None:
        self.turns = turns
        self.call = call
        self.last_message = last_message
        asked = "nothing"
        if last_message is not None:
            asked = f"{last_message.type} message {_shorten(last_message.text)!r}"
        super().__init__(
            f"the script has {turns} turn{'' if turns == 1 else 's'} and this is call {call}; "
            f"it was asked to answer: {asked}\n  add a turn, or pass repeat_last=True"
        )


@frozen(eq=False)
class RecordedRequest:
    """One request as the model received it.

    Attributes:
        messages: every message, the system message included.
        system: text of the system message, or an empty string.
        tools: the bound tools, converted only with ``convert_tools=True``.
        kwargs: everything else that was bound or passed, such as ``tool_choice`` and ``stop``.
    """

    messages: tuple[BaseMessage, ...]
    system: str
    tools: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    @property
    def tool_names(self) -> tuple[str, ...]:
        """Names of the bound tools, in order."""
        return tuple(tool_name(tool) for tool in self.tools)


class ScriptedChatModel(LocalChatModel):
    """Plays turns in order, whoever asks; parallel agents may share it.

    A turn is a text answer, an ``AIMessage``, one tool call or a list of them (``("ls", {"path": "/"})`` or
    a dict with ``name`` and ``args``), an exception, which is raised, or a function of the messages and the
    bound tools that returns any of these. Calls without an id get ``call_1``, ``call_2`` and so on.

    Args:
        turns: the script.
        provider: what the model reports as its provider; an empty string reports none.
        model_name: what it reports as its identifier.
        repeat_last: go on with the last turn instead of failing when the script is over.
        convert_tools: convert bound tools to JSON schemas, as a provider does; costs time.
        record: keep every request in ``requests``; switch it off for very long runs.
        **fields: fields of ``BaseChatModel``, such as ``profile={"max_input_tokens": 1000}``.

    Raises:
        TypeError: a turn is of no known kind.
    """

    provider: str = "scripted"
    model_name: str = "scripted"
    repeat_last: bool = False
    convert_tools: bool = False
    record: bool = True

    _turns: tuple[Any, ...] = PrivateAttr(default=())
    _requests: list[RecordedRequest] = PrivateAttr(default_factory=list)
    _played: int = PrivateAttr(default=0)
    _calls: int = PrivateAttr(default=0)
    _lock: Any = PrivateAttr(default_factory=threading.Lock)

    def __init__(self, turns: Iterable[Turn] = (), /, **fields: Any) -> None:
        super().__init__(**fields)
        # A text is one turn, not one turn for each of its characters.
        self._turns = (turns,) if isinstance(turns, str) else tuple(turns)
        for number, turn in enumerate(self._turns, 1):
            _check(turn, f"turn {number}")

    @property
    def requests(self) -> list[RecordedRequest]:
        """Every request so far, in the order in which they came."""
        return self._requests

    @property
    def turns_left(self) -> int:
        """How many turns have not been played."""
        return max(0, len(self._turns) - self._played)

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools; they are recorded with each request and given to turns that are functions."""
        bound = [convert_to_openai_tool(tool) for tool in tools] if self.convert_tools else tools
        return super().bind_tools(bound, tool_choice=tool_choice, **kwargs)

    def answer(
        self, messages: list[BaseMessage], tools: tuple[Any, ...], options: Mapping[str, Any]
    ) -> AIMessage:
        """Play the next turn.

        Raises:
            ScriptExhaustedError: there is none.
            BaseException: the turn is an exception.
        """
        with self._lock:
            if self.record:
                self._requests.append(_request(messages, tools, options))
            position = self._played
            self._played += 1
        if position >= len(self._turns):
            if not (self.repeat_last and self._turns):
                last = messages[-1] if messages else None
                raise ScriptExhaustedError(len(self._turns), position + 1, last)
            position = -1
        turn = self._turns[position]
        while callable(turn):
            turn = turn(messages, tools)
            _check(turn, "the result of a turn that is a function")
        if isinstance(turn, BaseException):
            raise turn
        answer = self._message(turn)
        if answer.usage_metadata is None:
            answer.usage_metadata = _usage(len(messages), answer)
        return answer

    def _message(self, turn: Any) -> AIMessage:
        # Always a new object: the caller's loop writes ids and metadata into what it gets.
        if isinstance(turn, AIMessage):
            return turn.model_copy(update={"response_metadata": dict(turn.response_metadata)})
        if isinstance(turn, str):
            return AIMessage(content=turn)
        calls = [turn] if _is_call(turn) else list(turn)
        return AIMessage(content="", tool_calls=[self._call(call) for call in calls])

    def _call(self, call: Call) -> ToolCall:
        fields: Mapping[str, Any] = call if isinstance(call, Mapping) else {"name": call[0], "args": call[1]}
        call_id = fields.get("id")
        if call_id is None:
            with self._lock:
                self._calls += 1
                call_id = f"call_{self._calls}"
        return tool_call(name=fields["name"], args=dict(fields.get("args") or {}), id=call_id)


def _request(
    messages: list[BaseMessage], tools: tuple[Any, ...], options: Mapping[str, Any]
) -> RecordedRequest:
    system = messages[0].text if messages and isinstance(messages[0], SystemMessage) else ""
    return RecordedRequest(tuple(messages), system, tools, dict(options))


def _usage(messages: int, answer: AIMessage) -> UsageMetadata:
    said = len(answer.content) if isinstance(answer.content, str) else 0
    given = TOKENS_A_MESSAGE * messages
    made = 1 + said // 4 + TOKENS_A_MESSAGE * len(answer.tool_calls)
    return UsageMetadata(input_tokens=given, output_tokens=made, total_tokens=given + made)


def _is_call(turn: Any) -> bool:
    if isinstance(turn, Mapping):
        return isinstance(turn.get("name"), str) and isinstance(turn.get("args") or {}, Mapping)
    pair = isinstance(turn, tuple) and len(turn) == 2
    return pair and isinstance(turn[0], str) and isinstance(turn[1], Mapping)


def _check(turn: Any, where: str) -> None:
    if isinstance(turn, AIMessage | str | BaseException) or _is_call(turn):
        return
    if isinstance(turn, list | tuple) and all(_is_call(call) for call in turn):
        return
    if callable(turn) and not isinstance(turn, type):
        return
    msg = (
        f"{where} is {turn!r}; a turn is a str, an AIMessage, a tool call such as ('ls', {{'path': '/'}}) "
        "or a list of them, an exception instance, or a function of (messages, tools) that gives one of these"
    )
    raise TypeError(msg)


def _shorten(text: str, limit: int = 300) -> str:
    return text if len(text) <= limit else f"{text[:limit]}... ({len(text)} characters)"
