"""The state of an agent, in a real graph with a real checkpointer."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.types import _DeltaSnapshot

from deepagents_kernel.contracts.state import DeepAgentState


class EchoModel(BaseChatModel):
    """Repeats the last message; calls a tool when it starts with ``call``."""

    @property
    def _llm_type(self) -> str:
        return "echo"

    def bind_tools(self, tools: Any, **kwargs: Any) -> EchoModel:
        return self

    def _generate(
        self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        last = messages[-1]
        calls = []
        if last.type == "human" and last.text.startswith("call"):
            calls = [{"name": "shout", "args": {"text": text}, "id": f"{last.text}-{text}"} for text in "abc"]
        message = AIMessage(content=f"echo {last.text}", tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


@tool
def shout(text: str) -> str:
    """Make it loud."""
    return text.upper()


@pytest.fixture
def saver():
    return InMemorySaver()


@pytest.fixture
def agent(saver):
    return create_agent(EchoModel(), tools=[shout], state_schema=DeepAgentState, checkpointer=saver)


def thread(name="t"):
    return {"configurable": {"thread_id": name}}


def stored(saver, config):
    """What each checkpoint itself holds for ``messages``, oldest first."""
    values = [item.checkpoint["channel_values"] for item in saver.list(config)]
    return [value.get("messages") for value in reversed(values)]


def distinct(states):
    """Without those that equal their predecessor."""
    return [state for state, _ in itertools.groupby(states)]


@pytest.mark.spec("STATE-001", "RED-013")
def test_checkpoints_hold_the_conversation_only_every_so_often(agent, saver):
    turns = 60
    for number in range(turns):
        agent.invoke({"messages": [HumanMessage(f"m{number}")]}, thread())
    contents = stored(saver, thread())
    snapshots = [value for value in contents if value is not None]
    assert len(contents) >= 2 * turns
    # Two updates a turn, question and answer; a next input's checkpoint still shows the stored copy.
    assert [len(value.value) for value in snapshots] == [50, 50, 100, 100]
    assert all(isinstance(value, _DeltaSnapshot) and type(value.value) is list for value in snapshots)
    assert len(agent.get_state(thread()).values["messages"]) == 2 * turns


@pytest.mark.spec("STATE-009", "RED-010")
def test_every_message_has_a_stable_id_of_its_own(agent):
    for number in range(60):
        out = agent.invoke({"messages": [{"role": "user", "content": f"m{number}"}]}, thread())["messages"]
    again = agent.get_state(thread()).values["messages"]
    assert len(out) == 120
    assert all(message.id for message in out)
    assert len({message.id for message in out}) == 120
    assert again == out == agent.get_state(thread()).values["messages"]


@pytest.mark.spec("STATE-003", "RED-001", "RED-010")
@pytest.mark.parametrize(
    "written",
    [
        "hi",
        ("user", "hi"),
        {"role": "user", "content": "hi"},
        HumanMessage("hi"),
        ["hi"],
        [("user", "hi")],
        [["user", "hi"]],
        [{"type": "human", "content": "hi"}],
    ],
    ids=repr,
)
def test_every_form_of_message_gets_an_id_and_is_replayed_as_it_was(agent, written):
    out = agent.invoke({"messages": written}, thread())["messages"]
    assert [(message.type, message.content) for message in out] == [("human", "hi"), ("ai", "echo hi")]
    assert all(message.id for message in out)
    assert agent.get_state(thread()).values["messages"] == out


@pytest.mark.spec("STATE-008", "RED-002", "RED-011")
def test_each_checkpoint_replays_to_what_the_step_saw(agent):
    seen = []
    for number in range(4):
        for values in agent.stream({"messages": [f"call {number}"]}, thread(), stream_mode="values"):
            seen.append(list(values["messages"]))
    history = [list(state.values.get("messages", [])) for state in agent.get_state_history(thread())]
    steps = distinct(seen)
    assert distinct(reversed(history)) == [[], *steps]
    assert steps[-1] == agent.get_state(thread()).values["messages"]
    assert [message.type for message in steps[-1]] == ["human", "ai", "tool", "tool", "tool", "ai"] * 4


@pytest.mark.spec("STATE-004", "STATE-008", "RED-004")
def test_branches_of_a_thread_do_not_mix(agent):
    agent.invoke({"messages": [HumanMessage("one", id="1")]}, thread())
    fork = agent.get_state(thread()).config
    left = agent.invoke({"messages": [HumanMessage("left", id="x")]}, fork)["messages"]
    right = agent.invoke({"messages": [HumanMessage("pad"), HumanMessage("right", id="x")]}, fork)["messages"]
    assert [message.content for message in left[2:]] == ["left", "echo left"]
    assert [message.content for message in right[2:]] == ["pad", "right", "echo right"]
    assert agent.get_state(thread()).values["messages"] == right


@pytest.mark.spec("STATE-004", "STATE-005", "RED-005")
def test_history_can_be_edited(agent):
    out = agent.invoke({"messages": [HumanMessage("one", id="1")]}, thread())["messages"]
    edits = [
        RemoveMessage(out[1].id),
        RemoveMessage("unknown"),
        HumanMessage("ONE", id="1"),
        ToolMessage("t", tool_call_id="c"),
    ]
    agent.update_state(thread(), {"messages": edits})
    assert [message.content for message in agent.get_state(thread()).values["messages"]] == ["ONE", "t"]


@pytest.mark.spec("STATE-001", "RED-010")
async def test_async_runs_store_the_same(agent, saver):
    for number in range(30):
        out = (await agent.ainvoke({"messages": [("user", f"m{number}")]}, thread()))["messages"]
    state = await agent.aget_state(thread())
    assert state.values["messages"] == out
    assert len({message.id for message in out}) == 60
    snapshots = [value for value in stored(saver, thread()) if value is not None]
    assert [len(value.value) for value in snapshots] == [50, 50]


@pytest.mark.spec("STATE-001")
def test_a_schema_that_extends_it_keeps_the_channel():
    class Wider(DeepAgentState):
        note: str

    for schema in (DeepAgentState, Wider):
        channel = create_agent(EchoModel(), state_schema=schema).channels["messages"]
        assert isinstance(channel, DeltaChannel)
        assert channel.snapshot_frequency == 50
