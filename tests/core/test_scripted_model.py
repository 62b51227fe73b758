"""The scripted model, in real agent loops."""

import asyncio
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
from langchain.agents import create_agent
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage
from langchain_core.tools import tool

from deepagents_kernel.errors import DeepAgentsError
from deepagents_kernel.models import get_model_identifier, get_model_provider
from deepagents_kernel.testing import RecordedRequest, ScriptedChatModel, ScriptExhaustedError


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def test_plays_turns_of_every_kind_in_order():
    model = ScriptedChatModel(
        [
            "hello",
            ("add", {"a": 1, "b": 2}),
            [("add", {"a": 1, "b": 2}), {"name": "add", "args": {"a": 3, "b": 4}, "id": "mine"}],
            AIMessage("from a message"),
            ValueError("on purpose"),
            lambda messages, tools: f"{len(messages)} messages, {len(tools)} tools",
        ]
    )
    assert model.invoke("x").content == "hello"
    assert [call["id"] for call in model.invoke("x").tool_calls] == ["call_1"]
    calls = model.invoke("x").tool_calls
    assert [(call["name"], call["args"], call["id"]) for call in calls] == [
        ("add", {"a": 1, "b": 2}, "call_2"),
        ("add", {"a": 3, "b": 4}, "mine"),
    ]
    assert model.invoke("x").content == "from a message"
    with pytest.raises(ValueError, match="on purpose"):
        model.invoke("x")
    assert (
        model.bind_tools([add]).invoke([HumanMessage("x"), HumanMessage("y")]).content
        == "2 messages, 1 tools"
    )
    assert model.turns_left == 0


def test_an_agent_runs_its_tools_and_the_model_reads_the_result():
    model = ScriptedChatModel(
        [[("add", {"a": 2, "b": 3})], lambda messages, tools: f"it is {messages[-1].text}"]
    )
    agent = create_agent(model, [add], system_prompt="Be exact.")
    result = agent.invoke({"messages": [HumanMessage("2+3?")]})
    assert result["messages"][-1].text == "it is 5"
    first, second = model.requests
    assert isinstance(first, RecordedRequest)
    assert (first.system, first.tool_names) == ("Be exact.", ("add",))
    assert first.tools == (add,)
    assert [message.type for message in second.messages] == ["system", "human", "ai", "tool"]


async def test_the_asynchronous_twin():
    model = ScriptedChatModel(
        [[("add", {"a": 2, "b": 3})], lambda messages, tools: f"it is {messages[-1].text}"]
    )
    result = await create_agent(model, [add]).ainvoke({"messages": [HumanMessage("2+3?")]})
    assert result["messages"][-1].text == "it is 5"
    with pytest.raises(ScriptExhaustedError):
        await model.ainvoke("more")


def test_streams_text_and_tool_calls_in_chunks_that_add_up():
    turn = AIMessage("Some words to say", tool_calls=[{"name": "add", "args": {"a": 1, "b": 20}, "id": "c"}])
    chunks = list(ScriptedChatModel([turn]).stream("x"))
    texts = [chunk.content for chunk in chunks if chunk.content]
    assert len(texts) > 1
    assert "".join(texts) == "Some words to say"
    pieces = [piece for chunk in chunks for piece in chunk.tool_call_chunks]
    assert [piece["name"] for piece in pieces] == ["add", None, None]
    assert "".join(piece["args"] for piece in pieces) == '{"a": 1, "b": 20}'
    assert [chunk.usage_metadata is not None for chunk in chunks] == [False] * (len(chunks) - 1) + [True]
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert isinstance(whole, AIMessageChunk)
    assert whole.tool_calls == turn.tool_calls
    assert whole.usage_metadata == ScriptedChatModel([turn]).invoke("x").usage_metadata


async def test_streams_through_an_agent_in_both_modes():
    def fresh():
        return create_agent(ScriptedChatModel([[("add", {"a": 1, "b": 1})], "the sum is two"]), [add])

    task = {"messages": [HumanMessage("go")]}
    sync = [
        chunk.content for chunk, _ in fresh().stream(task, stream_mode="messages") if chunk.type != "tool"
    ]
    seen = [item async for item in fresh().astream(task, stream_mode="messages")]
    later = [chunk.content for chunk, _ in seen if chunk.type != "tool"]
    assert sync == later
    assert [text for text in sync if text] == ["the ", "sum ", "is t", "wo"]


def test_content_blocks_metadata_and_broken_calls_survive_streaming():
    turn = AIMessage(
        [{"type": "text", "text": "hi", "index": 0}],
        response_metadata={"finish_reason": "length"},
        invalid_tool_calls=[
            {"name": "add", "args": '{"a": ', "id": "c", "error": None, "type": "invalid_tool_call"}
        ],
    )
    chunks = list(ScriptedChatModel([turn]).stream("x"))
    whole = chunks[0]
    for chunk in chunks[1:]:
        whole += chunk
    assert whole.text == "hi"
    assert whole.response_metadata["finish_reason"] == "length"
    assert [call["args"] for call in ScriptedChatModel([turn]).invoke("x").invalid_tool_calls] == ['{"a": ']
    assert [(piece["name"], piece["args"]) for piece in whole.tool_call_chunks] == [("add", '{"a": ')]


def test_an_empty_script_is_told_apart_from_a_short_one():
    model = ScriptedChatModel(["only one"])
    model.invoke("first")
    with pytest.raises(ScriptExhaustedError) as caught:
        model.invoke([HumanMessage("what now?")])
    assert isinstance(caught.value, DeepAgentsError)
    assert (caught.value.turns, caught.value.call) == (1, 2)
    assert "1 turn " in str(caught.value)
    assert "human message 'what now?'" in str(caught.value)
    assert "repeat_last=True" in str(caught.value)
    assert len(model.requests) == 2
    with pytest.raises(ScriptExhaustedError, match="0 turns"):
        ScriptedChatModel(repeat_last=True).invoke("x")


def test_the_last_turn_can_be_repeated_with_new_ids():
    model = ScriptedChatModel(["start", [("add", {"a": 1, "b": 1})]], repeat_last=True)
    model.invoke("x")
    assert [model.invoke("x").tool_calls[0]["id"] for _ in range(3)] == ["call_1", "call_2", "call_3"]


def test_each_answer_is_a_new_message():
    turn = AIMessage("same", response_metadata={"k": 1})
    model = ScriptedChatModel([turn], repeat_last=True)
    first, second = model.invoke("x"), model.invoke("x")
    assert first is not second
    assert first.id != second.id
    assert turn.id is None
    assert turn.response_metadata == {"k": 1}
    assert turn.usage_metadata is None


def test_reports_the_provider_identifier_and_profile_it_is_told_to():
    model = ScriptedChatModel(
        ["x"], provider="openai", model_name="gpt-x", profile={"max_input_tokens": 1000}
    )
    assert get_model_provider(model) == "openai"
    assert get_model_identifier(model) == "gpt-x"
    assert get_model_provider(model.bind_tools([add])) == "openai"
    assert model.profile == {"max_input_tokens": 1000}
    assert get_model_provider(ScriptedChatModel(["x"], provider="")) is None


def test_tools_are_converted_only_on_request():
    plain, converting = ScriptedChatModel(["x"]), ScriptedChatModel(["x"], convert_tools=True)
    plain.bind_tools([add], tool_choice="any").invoke("x", stop=["END"])
    converting.bind_tools([add]).invoke("x")
    assert plain.requests[0].tools == (add,)
    assert plain.requests[0].kwargs == {"tool_choice": "any", "stop": ["END"]}
    (schema,) = converting.requests[0].tools
    assert schema["function"]["parameters"]["required"] == ["a", "b"]
    assert converting.requests[0].tool_names == ("add",)


def test_recording_can_be_switched_off():
    model = ScriptedChatModel(["x"], record=False)
    model.invoke("x")
    assert model.requests == []


def test_usage_is_deterministic():
    messages = [SystemMessage("s"), HumanMessage("h")]
    usages = [ScriptedChatModel(["eight ch"]).invoke(messages).usage_metadata for _ in range(2)]
    assert usages[0] == usages[1] == {"input_tokens": 20, "output_tokens": 3, "total_tokens": 23}
    own = AIMessage("x", usage_metadata={"input_tokens": 7, "output_tokens": 7, "total_tokens": 14})
    assert ScriptedChatModel([own]).invoke("x").usage_metadata == own.usage_metadata


@pytest.fixture
def eager_threads():
    """Let threads interrupt each other as often as the interpreter can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_parallel_agents_share_one_script(eager_threads):
    model = ScriptedChatModel([("add", {"a": n, "b": 0}) for n in range(400)])
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: model.invoke("x"), range(400)))
    assert sorted(answer.tool_calls[0]["args"]["a"] for answer in answers) == list(range(400))
    assert len({answer.tool_calls[0]["id"] for answer in answers}) == 400
    assert len(model.requests) == 400


async def test_parallel_tasks_share_one_script():
    model = ScriptedChatModel([str(n) for n in range(20)])
    answers = await asyncio.gather(*(model.ainvoke("x") for _ in range(20)))
    assert {answer.text for answer in answers} == {str(n) for n in range(20)}


@pytest.mark.parametrize("turn", [3, [("ls",)], [3], ValueError, None, {"name": 1}])
def test_a_turn_of_no_known_kind_is_refused_at_once(turn):
    with pytest.raises(TypeError, match="turn 2 is"):
        ScriptedChatModel(["fine", turn])


def test_the_door_is_lazy_and_knows_its_names():
    code = (
        "import sys, deepagents_kernel.testing as t;"
        "assert not any(m.startswith('langchain') for m in sys.modules);"
        "assert set(t.__all__) <= set(dir(t)); t.ScriptedChatModel"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=False)
    assert done.returncode == 0, done.stderr
