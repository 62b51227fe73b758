"""What writes do to a conversation, and that it costs no more in a long one."""

from __future__ import annotations

import copy
import pickle
import sys

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.checkpoint.serde.types import _DeltaSnapshot
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from deepagents_kernel.contracts.messages import MessageList, messages_reducer
from deepagents_kernel.contracts.messages_channel import MessagesChannel


def human(text, id=None):
    return HumanMessage(text, id=id)


def texts(messages):
    return [message.content for message in messages]


class TestWrites:
    @pytest.mark.spec("STATE-002", "RED-001", "RED-002")
    def test_a_list_is_flattened_and_anything_else_is_one_message(self):
        result = messages_reducer(None, [[human("a"), human("b")], human("c"), []])
        assert texts(result) == ["a", "b", "c"]

    @pytest.mark.spec("STATE-003", "RED-001")
    def test_raw_forms_become_messages(self):
        result = messages_reducer(
            None,
            [
                {"role": "user", "content": "a"},
                "b",
                ("assistant", "c"),
                [("system", "d"), "e", {"type": "ai", "content": "f"}],
            ],
        )
        assert [(message.type, message.content) for message in result] == [
            ("human", "a"),
            ("human", "b"),
            ("ai", "c"),
            ("system", "d"),
            ("human", "e"),
            ("ai", "f"),
        ]

    @pytest.mark.spec("RED-001")
    def test_a_pair_within_a_list_survives_as_a_list(self):
        assert messages_reducer(None, [[["user", "a"]]]) == messages_reducer(None, [[("user", "a")]])

    @pytest.mark.spec("STATE-003", "RED-001")
    @pytest.mark.parametrize("write", [7, None, [7], [[human("a")]], [[human("a"), human("b")]], [[]]])
    def test_what_is_no_message_is_refused(self, write):
        with pytest.raises(NotImplementedError):
            messages_reducer([human("a")], [write])

    @pytest.mark.spec("STATE-004", "RED-004")
    def test_known_id_replaces_in_place_even_with_another_type(self):
        state = messages_reducer(None, [[human("a", "1"), human("b", "2")]])
        result = messages_reducer(state, [AIMessage("A", id="1"), human("c", "3")])
        assert result == [AIMessage("A", id="1"), human("b", "2"), human("c", "3")]

    @pytest.mark.spec("STATE-004", "RED-004")
    @pytest.mark.parametrize("missing", [None, ""])
    def test_without_an_id_it_is_always_appended(self, missing):
        state = messages_reducer([human("x", missing)], [human("x", missing)])
        assert texts(messages_reducer(state, [human("x", missing)])) == ["x", "x", "x"]

    @pytest.mark.spec("STATE-005", "RED-005")
    def test_remove_takes_away_and_ignores_unknown_ids(self):
        state = messages_reducer(None, [[human("a", "1"), human("b", "2"), human("c")]])
        assert texts(messages_reducer(state, [RemoveMessage("1"), RemoveMessage("nope")])) == ["b", "c"]
        assert texts(messages_reducer(state, [RemoveMessage("nope"), human("d")])) == ["a", "b", "c", "d"]

    @pytest.mark.spec("STATE-006", "RED-006")
    def test_removed_and_added_again_stands_at_the_end(self):
        state = [human("a", "1"), human("b", "2")]
        assert texts(messages_reducer(state, [RemoveMessage("1"), human("a2", "1")])) == ["b", "a2"]

    @pytest.mark.spec("STATE-007", "RED-007")
    def test_the_last_remove_all_counts(self):
        clear = RemoveMessage(REMOVE_ALL_MESSAGES)
        writes = [human("b", "2"), [clear, human("c", "3")], human("d", "4"), clear, human("e", "5")]
        assert texts(messages_reducer([human("a", "1")], writes)) == ["e"]
        assert messages_reducer([human("a", "1")], [clear]) == []

    @pytest.mark.spec("RED-008")
    def test_of_two_messages_with_one_id_the_later_is_replaced(self):
        state = [human("old", "1"), human("b", "2"), human("new", "1")]
        assert texts(messages_reducer(state, [human("x", "1")])) == ["old", "b", "x"]

    @pytest.mark.spec("RED-008")
    def test_of_two_messages_with_one_id_none_survives_a_removal(self):
        state = [human("old", "1"), human("b", "2"), human("new", "1")]
        assert texts(messages_reducer(state, [RemoveMessage("1"), human("x", "1")])) == ["b", "x"]
        assert texts(messages_reducer(messages_reducer(state, [RemoveMessage("1")]), [human("x", "1")])) == [
            "b",
            "x",
        ]

    @pytest.mark.spec("STATE-009", "RED-010")
    def test_ids_are_not_made_here(self):
        assert [message.id for message in messages_reducer(None, ["a", human("b"), ("user", "c")])] == [
            None
        ] * 3

    @pytest.mark.spec("STATE-010", "RED-009")
    def test_chunks_become_full_messages(self):
        call = {"name": "ls", "args": "{}", "id": "c1", "index": 0, "type": "tool_call_chunk"}
        chunk = AIMessageChunk("a", id="1", tool_call_chunks=[call])
        (message,) = messages_reducer(None, [chunk])
        assert type(message) is AIMessage
        assert message.id == "1"
        assert [call["name"] for call in message.tool_calls] == ["ls"]
        assert type(chunk) is AIMessageChunk

    @pytest.mark.spec("RED-003", "RED-009")
    def test_raw_forms_and_chunks_anywhere_in_the_state_are_converted(self):
        state = [
            human("a", "1"),
            {"role": "assistant", "content": "b"},
            HumanMessageChunk("c", id="3"),
            ("user", "d"),
        ]
        result = messages_reducer(state, [human("C", "3")])
        assert [(type(message), message.content) for message in result] == [
            (HumanMessage, "a"),
            (AIMessage, "b"),
            (HumanMessage, "C"),
            (HumanMessage, "d"),
        ]


class TestPurity:
    @pytest.mark.spec("RED-012")
    @pytest.mark.parametrize("writes", [[], [[]], [human("c", "3")], [human("A", "1")], [RemoveMessage("1")]])
    def test_a_new_list_comes_back_and_arguments_stay(self, writes):
        for state in (
            [human("a", "1"), human("b", "2")],
            messages_reducer(None, [[human("a", "1"), human("b", "2")]]),
        ):
            before, written = list(state), list(writes)
            result = messages_reducer(state, writes)
            assert result is not state
            assert list(state) == before
            assert writes == written
            assert messages_reducer(state, writes) == result

    @pytest.mark.spec("STATE-002")
    def test_the_result_is_a_list_like_any_other(self):
        result = messages_reducer(None, [[human("a", "1"), human("b", "2")]])
        assert isinstance(result, list)
        assert result == [human("a", "1"), human("b", "2")]
        assert repr(result) == repr(list(result))
        assert type(result[:1]) is list
        assert type(result + result) is list


class TestMemory:
    """Lists that share what they remember, and people who change lists behind its back."""

    @pytest.mark.spec("STATE-004")
    def test_branches_that_grow_from_one_list_stay_apart(self):
        root = messages_reducer(None, [[human("a", "1")]])
        left = messages_reducer(root, [human("x", "9"), human("l", "8")])
        right = messages_reducer(root, [human("l", "7"), human("y", "9")])
        right = messages_reducer(right, [human("r", "8")])
        assert texts(messages_reducer(left, [human("X", "9"), human("L", "8")])) == ["a", "X", "L"]
        assert texts(messages_reducer(right, [human("Y", "9"), human("R", "8")])) == ["a", "l", "Y", "R"]
        assert texts(messages_reducer(root, [human("z", "9")])) == ["a", "z"]

    @pytest.mark.spec("STATE-004", "RED-004")
    def test_an_id_given_later_is_noticed(self):
        state = messages_reducer(None, [[human("a"), human("b")]])
        state[0].id = "1"
        assert texts(messages_reducer(state, [human("A", "1")])) == ["A", "b"]

    @pytest.mark.spec("STATE-004")
    @pytest.mark.parametrize(
        "change",
        [
            lambda m: m.insert(0, human("z", "0")),
            lambda m: m.append(human("z", "0")),
            lambda m: m.extend([human("z", "0")]),
            lambda m: m.__setitem__(0, human("z", "0")),
            lambda m: m.__iadd__([{"role": "user", "content": "z", "id": "0"}]),
            lambda m: (m.pop(0), m.append(human("z", "0"))),
            lambda m: (m.append(human("z", "0")), m.reverse()),
            lambda m: (m.append(human("z", "0")), m.sort(key=lambda message: message.id)),
            lambda m: (m.clear(), m.append(human("z", "0"))),
            lambda m: (m.remove(m[0]), m.append(human("z", "0"))),
            lambda m: (m.__delitem__(0), m.append(human("z", "0"))),
            lambda m: (m.append(human("z", "0")), m.__imul__(1)),
        ],
    )
    def test_a_list_changed_in_place_is_read_anew(self, change):
        state = messages_reducer(None, [[human("a", "1"), human("b", "2")]])
        change(state)
        plain = list(state)
        writes = [human("Z", "0"), human("B", "2"), human("n", "n")]
        assert messages_reducer(state, writes) == messages_reducer(plain, writes)
        assert texts(messages_reducer(state, writes)).count("Z") == 1

    @pytest.mark.spec("STATE-004")
    def test_copies_do_not_disturb_each_other(self):
        state = messages_reducer(None, [[human("a", "1")]])
        twin = copy.copy(state)
        assert isinstance(twin, MessageList)
        twin.insert(0, human("z", "0"))
        assert texts(messages_reducer(state, [human("A", "1")])) == ["A"]
        assert texts(messages_reducer(twin, [human("A", "1")])) == ["z", "A"]

    @pytest.mark.spec("RED-012")
    @pytest.mark.parametrize("through", [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
    def test_deep_copies_and_pickles_are_plain(self, through):
        state = messages_reducer(None, [[human("a", "1"), ToolMessage("b", tool_call_id="c", id="2")]])
        result = through(state)
        assert type(result) is list
        assert result == state
        assert result[0] is not state[0]

    @pytest.mark.spec("STATE-001", "RED-013")
    def test_snapshots_serialize_to_plain_data(self):
        serializer = JsonPlusSerializer(allowed_msgpack_modules=None)
        state = messages_reducer(None, [[human("a", "1"), SystemMessage("b", id="2")]])
        assert serializer.dumps_typed(state) == serializer.dumps_typed(list(state))
        restored = serializer.loads_typed(serializer.dumps_typed(_DeltaSnapshot(state)))
        assert isinstance(restored, _DeltaSnapshot)
        assert type(restored.value) is list
        assert restored.value == state


class TestCost:
    """Bytecode instructions are counted: calls alone would not show a loop."""

    @staticmethod
    def instructions(function, *arguments):
        count = 0

        def trace(frame, event, argument):
            nonlocal count
            frame.f_trace_opcodes = True
            count += event == "opcode"
            return trace

        before = sys.gettrace()
        # Python 3.12 gives no opcodes of the first call that a process traces: the second one counts.
        for _ in range(2):
            count = 0
            sys.settrace(trace)
            try:
                function(*arguments)
            finally:
                sys.settrace(before)
        assert count
        return count

    @staticmethod
    def conversation(size):
        return messages_reducer(None, [[human(str(number), f"id-{number}") for number in range(size)]])

    @pytest.mark.spec("STATE-001", "STATE-004")
    @pytest.mark.parametrize(
        "writes",
        [
            [AIMessage("new", id="new")],
            [AIMessage("same", id="id-3")],
            [[human("one"), AIMessage("two", id="new")]],
            [RemoveMessage("unknown")],
        ],
        ids=["append", "replace", "without-id", "unknown-removal"],
    )
    def test_a_write_costs_the_same_in_a_long_conversation(self, writes):
        short, long = self.conversation(10), self.conversation(3000)
        assert self.instructions(messages_reducer, short, writes) == self.instructions(
            messages_reducer, long, writes
        )

    @pytest.mark.spec("STATE-001")
    def test_a_step_that_the_host_tries_first_costs_the_same_in_a_long_conversation(self):
        def step(channel):
            # A conditional edge reads the state as it will be: a copy of the channel gets the task's writes.
            for number in (1, 2, 3):
                tried = channel.copy()
                tried.update([[ToolMessage("t", tool_call_id="c", id=f"new-{number}")]])
            channel.update([[ToolMessage("t", tool_call_id="c", id=f"new-{number}")] for number in (1, 2, 3)])

        counts = []
        for size in (10, 3000):
            channel = MessagesChannel()
            channel.update([self.conversation(size)])
            counts.append(self.instructions(step, channel))
            assert len(channel.get()) == size + 3
        assert counts[0] == counts[1]

    @pytest.mark.spec("STATE-004")
    def test_writes_that_were_tried_and_dropped_leave_nothing_behind(self):
        state, write = self.conversation(10), [[AIMessage("a", id="new"), human("b", "other")]]
        counts = {self.instructions(messages_reducer, state, write) for _ in range(50)}
        # The first time the id is new to the memory; from the second on nothing is.
        assert len(counts) <= 2


class TestChannel:
    @pytest.mark.spec("STATE-001")
    def test_it_is_the_delta_channel_it_stands_for(self):
        assert isinstance(MessagesChannel(), DeltaChannel)
        assert MessagesChannel() == DeltaChannel(messages_reducer, snapshot_frequency=50)
        assert MessagesChannel() == MessagesChannel()
        assert MessagesChannel() != MessagesChannel(snapshot_frequency=7)
        assert MessagesChannel() != DeltaChannel(messages_reducer, snapshot_frequency=7)
        assert MessagesChannel() != DeltaChannel(lambda state, writes: state, snapshot_frequency=50)

    @pytest.mark.spec("STATE-001")
    def test_another_reducer_needs_another_channel(self):
        with pytest.raises(TypeError, match="use DeltaChannel"):
            MessagesChannel(lambda state, writes: state)

    @pytest.mark.spec("STATE-008", "RED-011")
    def test_replay_in_one_batch_gives_what_the_steps_gave(self):
        steps = [
            [human("a", "1")],
            [[human("b", "2"), human("c", "3")]],
            [RemoveMessage("1")],
            [AIMessage("B", id="2")],
        ]
        live, replayed = MessagesChannel(), MessagesChannel().from_checkpoint(None)
        for step in steps:
            live.update(step)
        replayed.replay_writes([("task", "messages", write) for step in steps for write in step])
        assert live.get() == replayed.get() == [AIMessage("B", id="2"), human("c", "3")]
