"""The reducer against an obvious model, on arbitrary histories, branches and slips."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, rule
from langchain_core.messages import AIMessage, AIMessageChunk, HumanMessage, RemoveMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from deepagents_kernel.contracts.messages import messages_reducer
from deepagents_kernel.contracts.messages_channel import MessagesChannel

IDS = st.sampled_from([None, "", "1", "2", "3", "4", "5"])
ROLES = {"user": HumanMessage, "assistant": AIMessage}

messages = st.builds(
    lambda cls, text, key: cls(content=text, id=key),
    st.sampled_from([HumanMessage, AIMessage]),
    st.sampled_from("ab"),
    IDS,
)
raw = st.one_of(
    st.sampled_from("xy"),
    st.tuples(st.sampled_from(sorted(ROLES)), st.sampled_from("xy")),
    st.builds(
        lambda role, key: {"role": role, "content": "r", "id": key}, st.sampled_from(sorted(ROLES)), IDS
    ),
    st.builds(lambda key: AIMessageChunk(content="k", id=key), IDS),
)
removals = st.sampled_from(["1", "2", "3", "9", REMOVE_ALL_MESSAGES]).map(RemoveMessage)
items = st.one_of(messages, messages, raw, removals)
batches = st.lists(st.one_of(items, st.lists(items, max_size=4)), max_size=6)
states = st.none() | st.lists(st.one_of(messages, raw), max_size=6)


def typed(item):
    if isinstance(item, AIMessageChunk):
        return AIMessage(content=item.content, id=item.id)
    if isinstance(item, str):
        return HumanMessage(item)
    if isinstance(item, tuple):
        return ROLES[item[0]](item[1])
    if isinstance(item, dict):
        return ROLES[item["role"]](item["content"], id=item["id"])
    return item


def model(state, writes):
    """One write at a time, by looking at everything."""
    result = [typed(item) for item in state or []]
    for item in (item for write in writes for item in (write if isinstance(write, list) else [write])):
        message = typed(item)
        same = [place for place, other in enumerate(result) if message.id and other.id == message.id]
        if isinstance(message, RemoveMessage):
            result = (
                []
                if message.id == REMOVE_ALL_MESSAGES
                else [m for m in result if not m.id or m.id != message.id]
            )
        elif same:
            result[same[-1]] = message
        else:
            result.append(message)
    return result


@pytest.mark.spec("STATE-004", "STATE-005", "STATE-006", "STATE-007", "RED-008")
@settings(max_examples=300, deadline=None)
@given(states, batches)
def test_agrees_with_the_model(state, writes):
    assert messages_reducer(state, writes) == model(state, writes)


@pytest.mark.spec("STATE-008", "RED-011", "RED-012")
@settings(max_examples=300, deadline=None)
@given(states, batches, batches)
def test_batching_makes_no_difference_and_nothing_is_changed(state, first, second):
    given_to_it = copy.deepcopy((state, first, second))
    step = messages_reducer(state, first)
    kept = list(step)
    apart = messages_reducer(step, second)
    assert apart == messages_reducer(state, first + second) == model(state, first + second)
    assert step == kept
    assert (state, first, second) == given_to_it


class Branches(RuleBasedStateMachine):
    """Lists that grow from one another in any order, tried, copied, changed and stamped on the way."""

    pairs = Bundle("pairs")

    @rule(target=pairs, state=states)
    def start(self, state):
        return messages_reducer(state, []), model(state, [])

    @rule(target=pairs, pair=pairs, writes=batches)
    def grow(self, pair, writes):
        state, expected = pair
        result = messages_reducer(state, writes), model(expected, writes)
        assert result[0] == result[1]
        assert state == expected
        return result

    @rule(target=pairs, pair=pairs, writes=batches)
    def grow_in_a_channel(self, pair, writes):
        channel = MessagesChannel().from_checkpoint(None)
        channel.value = pair[0]
        twin = channel.copy()
        twin.update(writes)
        assert twin.get() == model(pair[1], writes)
        assert channel.get() == pair[1]
        return twin.get(), model(pair[1], writes)

    @rule(target=pairs, pair=pairs)
    def copied(self, pair):
        return copy.copy(pair[0]), list(pair[1])

    @rule(pair=pairs, message=messages, place=st.integers(0, 6))
    def change_in_place(self, pair, message, place):
        pair[0].insert(place, message)
        pair[1].insert(place, message)

    @rule(pair=pairs, id=st.sampled_from(["1", "2", "6"]))
    def stamp(self, pair, id):
        # Model and state may hold objects of their own for what was converted; both get the id.
        for mine, theirs in zip(*pair, strict=True):
            if mine.id is None:
                mine.id = theirs.id = id
                return


TestBranches = pytest.mark.spec("STATE-004", "STATE-008", "RED-012")(Branches.TestCase)
TestBranches.settings = settings(max_examples=150, stateful_step_count=15, deadline=None)
