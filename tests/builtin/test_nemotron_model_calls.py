"""What Nemotron's profile does around a model call: rate limits, message fields, thoughts."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents.middleware.types import ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from deepagents_builtin.profiles.harness.nemotron import rate_limit
from deepagents_builtin.profiles.harness.nemotron.nvidia_compatibility import (
    ChatNVIDIAMessageCompatibilityMiddleware,
)
from deepagents_builtin.profiles.harness.nemotron.rate_limit import (
    ModelRateLimitRetryMiddleware,
    is_rate_limit,
    retry_after,
)
from deepagents_builtin.profiles.harness.nemotron.reasoning_tags import split_thoughts, without_thoughts
from deepagents_kernel import Kernel, create_deep_agent
from deepagents_kernel.testing import ScriptedChatModel

KERNEL = Kernel()


def agent(turns, *, profile=True):
    provider = "NVIDIA" if profile else "another"
    model = ScriptedChatModel(turns, provider=provider, model_name="nvidia/nemotron-3-ultra-550b-a55b")
    return model, create_deep_agent(model, kernel=KERNEL)


class RateLimitError(Exception):
    pass


class SeparateLimitsError(Exception):
    pass


class StatusError(Exception):
    def __init__(self, status=None, text="", **headers):
        super().__init__(text)
        self.status_code = status
        self.response = SimpleNamespace(
            headers={key.replace("_", "-"): value for key, value in headers.items()}
        )


# -- rate limits ----------------------------------------------------------------------------------


@pytest.mark.spec("NEMO-060")
@pytest.mark.parametrize(
    ("error", "limited"),
    [
        (RateLimitError("slow down"), True),
        (StatusError(429), True),
        (StatusError("429"), False),
        (StatusError(500), False),
        (ValueError("Rate limit exceeded"), True),
        (ValueError("rate-limited"), True),
        (ValueError("code: rate_limit_exceeded"), True),
        (ValueError("these are separate limits"), False),
        (SeparateLimitsError("no"), False),
        (type("ratelimit_exceeded", (Exception,), {})(), True),
        (ValueError("the corporate limitation"), False),
    ],
)
def test_what_is_a_rate_limit(error, limited):
    assert is_rate_limit(error) is limited


@pytest.mark.spec("NEMO-060")
def test_what_the_provider_asks_for():
    assert retry_after(StatusError(retry_after="7")) == 7.0
    assert retry_after(StatusError(Retry_After_Ms="250", retry_after="7")) == 0.25
    assert retry_after(StatusError()) is None
    assert retry_after(StatusError(retry_after="soon")) is None
    assert retry_after(StatusError(retry_after="nan")) is None
    date = format_datetime(datetime.now(UTC) + timedelta(seconds=100), usegmt=True)
    assert 50 < retry_after(StatusError(retry_after=date)) <= 100
    assert retry_after(StatusError(retry_after="Thu, 01 Jan 1970 00:00:00 GMT")) == 0.0


@given(st.text())
def test_no_header_breaks_it(value):
    waited = retry_after(StatusError(retry_after=value))
    assert waited is None or waited >= 0


@pytest.fixture
def waits(monkeypatch):
    """What was waited, without waiting: ``("sync" | "async", seconds)``."""
    found = []

    async def sleep(seconds):
        found.append(("async", seconds))

    monkeypatch.setattr(rate_limit, "time", SimpleNamespace(sleep=lambda s: found.append(("sync", s))))
    monkeypatch.setattr(rate_limit, "asyncio", SimpleNamespace(sleep=sleep))
    return found


@pytest.mark.spec("NEMO-060")
async def test_a_rate_limit_is_waited_out(waits):
    turns = [StatusError(429), StatusError(429, retry_after="7"), "done"]
    model, graph = agent(turns)
    assert graph.invoke({"messages": "hello"})["messages"][-1].text == "done"
    assert waits == [("sync", 4.0), ("sync", 7.0)]
    waits.clear()
    model, graph = agent([StatusError(429), StatusError(429), "done"])
    assert (await graph.ainvoke({"messages": "hello"}))["messages"][-1].text == "done"
    assert waits == [("async", 4.0), ("async", 12.0)]
    assert len(model.requests) == 3


@pytest.mark.spec("NEMO-060")
async def test_the_last_failure_goes_out(waits):
    model, graph = agent([StatusError(429, text=text) for text in ("one", "two", "three", "four")])
    with pytest.raises(StatusError, match="three"):
        graph.invoke({"messages": "hello"})
    assert len(model.requests) == 3
    model, graph = agent([StatusError(429)], profile=False)
    with pytest.raises(StatusError):
        await graph.ainvoke({"messages": "hello"})
    assert len(model.requests) == 1


def test_other_errors_and_long_waits_go_out_at_once(waits):
    for error in (StatusError(500), StatusError(429, retry_after="3600")):
        model, graph = agent([error])
        with pytest.raises(StatusError):
            graph.invoke({"messages": "hello"})
        assert (len(model.requests), waits) == (1, [])


@pytest.mark.spec("NEMO-060")
async def test_waiting_holds_no_thread_of_the_loop():
    """While one call waits, another task of the loop goes on."""
    middleware = ModelRateLimitRetryMiddleware((0.01,))
    order = []

    async def handler(request):
        order.append("call")
        if order.count("call") == 1:
            raise StatusError(429)
        return "done"

    async def other():
        order.append("other")

    await asyncio.gather(middleware.awrap_model_call(None, handler), other())
    assert order == ["call", "other", "call"]


# -- fields for NVIDIA's client -------------------------------------------------------------------


@pytest.mark.spec("NEMO-065")
def test_fields_are_mirrored_into_copies():
    model, graph = agent([[("ls", {"path": "/"})], "done"])
    stored = graph.invoke({"messages": "hello"})["messages"]
    _, call, result = (message for message in model.requests[1].messages if message.type != "system")
    assert call.additional_kwargs["tool_calls"] == [
        {"id": "call_1", "type": "function", "function": {"name": "ls", "arguments": '{"path": "/"}'}}
    ]
    assert result.additional_kwargs["name"] == "ls"
    assert [message.additional_kwargs for message in stored] == [{}] * 4
    model, graph = agent([[("ls", {"path": "/"})], "done"], profile=False)
    graph.invoke({"messages": "hello"})
    assert all(not message.additional_kwargs for message in model.requests[1].messages)


@pytest.mark.spec("NEMO-065")
def test_a_request_with_nothing_to_mirror_is_the_same():
    mirrored = AIMessage(
        "",
        tool_calls=[{"name": "ls", "args": {}, "id": "c"}],
        additional_kwargs={"tool_calls": ["as they were"]},
    )
    messages = [HumanMessage("q"), mirrored, ToolMessage("x", tool_call_id="c"), AIMessage("a")]
    request = ModelRequest(model=None, messages=messages)
    seen = []
    ChatNVIDIAMessageCompatibilityMiddleware().wrap_model_call(request, seen.append)
    assert seen[0] is request


# -- thoughts -------------------------------------------------------------------------------------


@pytest.mark.spec("NEMO-070")
def test_thoughts_go_where_they_belong():
    answer = "<think>one</think>Hello <THINK>\ntwo\n</Think>world"
    _, graph = agent([answer])
    last = graph.invoke({"messages": "hello"})["messages"][-1]
    assert (last.content, last.additional_kwargs["reasoning_content"]) == ("Hello world", "one\n\ntwo")
    _, graph = agent([answer], profile=False)
    assert graph.invoke({"messages": "hello"})["messages"][-1].content == answer


@pytest.mark.spec("NEMO-070")
@pytest.mark.parametrize(
    "content", ["<think>open", "closed</think>", "plain", [{"type": "text", "text": "<think>x</think>y"}], ""]
)
def test_what_is_left_as_it_is(content):
    message = AIMessage(content)
    assert without_thoughts(message) is message


@pytest.mark.spec("NEMO-070")
def test_reasoning_that_is_there_is_kept():
    message = AIMessage("<think>new</think>x", additional_kwargs={"reasoning_content": "old", "a": 1})
    changed = without_thoughts(message)
    assert (changed.content, changed.additional_kwargs) == ("x", {"reasoning_content": "old", "a": 1})
    assert message.content == "<think>new</think>x"


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "\n"]), max_size=12))
def test_no_word_is_lost(parts):
    text = "".join(parts)
    rest, thoughts = split_thoughts(text)
    assert rest.count("a") + sum(thought.count("a") for thought in thoughts) == text.count("a")
    assert split_thoughts(rest)[1] == [] or "<think>" in rest


def test_the_response_is_the_same_object_without_thoughts():
    from deepagents_builtin.profiles.harness.nemotron.reasoning_tags import (
        NemotronReasoningTagCleanupMiddleware,
    )

    response = ModelResponse(result=[AIMessage("x")])
    assert NemotronReasoningTagCleanupMiddleware().wrap_model_call(None, lambda _: response) is response
