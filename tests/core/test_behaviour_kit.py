"""The kit for behaviours: internal messages, turns, flags, progress, vocabulary, guards."""

import json
import subprocess
import sys
from typing import Annotated, NotRequired

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware.types import (
    AgentState,
    ExtendedModelResponse,
    ModelResponse,
    PrivateStateAttr,
)
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

import deepagents_kernel.behaviour as kit
from deepagents_kernel.behaviour import (
    AnswerGuard,
    InternalMessages,
    ToolVocabulary,
    TurnLimits,
    current_turn,
    fired,
    flag_update,
    idle_since_progress,
    is_uninformative,
    map_ai_messages,
    merge_updates,
    name_words,
    repeated_calls,
    tool_names,
)
from deepagents_kernel.testing import ScriptedChatModel

OWN = InternalMessages({"my_guard", "my_budget"})
WORDS = ToolVocabulary(harness={"ls"}, reading={"get"}, changing={"send", "delete"})


def calling(*calls):
    return AIMessage(
        "", tool_calls=[{"name": name, "args": args, "id": call_id} for name, args, call_id in calls]
    )


def result(text, call_id, **fields):
    return ToolMessage(text, tool_call_id=call_id, **fields)


def test_every_name_of_the_kit_is_there():
    assert all(getattr(kit, name) is not None for name in kit.__all__)


def test_importing_the_kit_imports_no_langchain():
    code = "import deepagents_kernel.behaviour, sys; print('langchain' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "False"


# -- messages and turns ---------------------------------------------------------------------------


def test_a_nudge_is_marked_and_no_users_message():
    nudge = OWN.nudge("my_guard", "again")
    assert (nudge.name, nudge.additional_kwargs) == ("my_guard", {"lc_source": "my_guard"})
    assert OWN.owns(nudge)
    assert not OWN.is_external(nudge)


def test_a_nudge_of_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(ValueError, match="nearest: my_guard"):
        OWN.nudge("my_gard", "again")


@pytest.mark.parametrize(
    ("message", "external"),
    [
        (HumanMessage("hi"), True),
        (HumanMessage("hi", name="Ada"), True),
        (HumanMessage("hi", name="my_guard"), False),
        (HumanMessage("a summary", additional_kwargs={"lc_source": "summarization"}), False),
        (SystemMessage("hi"), False),
        (AIMessage("hi"), False),
    ],
)
def test_who_counts_as_the_user(message, external):
    assert OWN.is_external(message) is external


def test_a_turn_begins_with_the_users_last_message():
    conversation = [
        HumanMessage("one", id="1"),
        AIMessage("first"),
        HumanMessage("two", id="2"),
        calling(("get_x", {"a": 1}, "c")),
        result("5", "c"),
        OWN.nudge("my_guard", "go on"),
        AIMessage("five"),
    ]
    turn = current_turn(conversation, OWN)
    assert (turn.start, turn.key, turn.text) == (2, "2", "two")
    assert [call.text for call in turn.calls] == ["5"]
    assert turn.final_answer() is conversation[-1]
    assert turn.called(WORDS.is_domain)


def test_only_the_turn_is_looked_at():
    class Counting(list):
        looked = 0

        def __getitem__(self, place):
            self.looked += 1
            return super().__getitem__(place)

    conversation = Counting(
        [HumanMessage("old"), AIMessage("x")] * 500 + [HumanMessage("new"), AIMessage("y")]
    )
    assert current_turn(conversation, OWN).text == "new"
    assert conversation.looked <= 3


def test_a_conversation_without_a_user_is_one_turn():
    turn = current_turn([AIMessage("hello")], OWN)
    assert (turn.request, turn.key, turn.text, len(turn.messages)) == (None, "", "", 1)
    assert current_turn([], OWN).last is None


@pytest.mark.parametrize(
    "last",
    [
        calling(("ls", {}, "c")),
        AIMessage("  "),
        AIMessage("over", name="my_budget"),
        ToolMessage("x", tool_call_id="c"),
    ],
)
def test_what_is_no_final_answer(last):
    assert current_turn([HumanMessage("q"), last], OWN).final_answer() is None


# -- flags ----------------------------------------------------------------------------------------


def test_a_flag_counts_within_its_turn_and_resets_with_the_next():
    first = current_turn([HumanMessage("a", id="1")], OWN)
    second = current_turn([HumanMessage("b", id="2")], OWN)
    state = flag_update({}, "f", first)
    state = {**state, **flag_update(state, "f", first)}
    assert fired(state, "f", first) == 2
    assert fired(state, "f", second) == 0
    # The old turn is forgotten: a flag does not grow with the thread.
    assert flag_update(state, "f", second) == {"f": ["2"]}


def test_a_foreign_value_is_no_flag():
    turn = current_turn([HumanMessage("a", id="1")], OWN)
    assert fired({"f": True}, "f", turn) == 0


def test_updates_are_merged_in_order():
    one = {"messages": ["a"], "f": [1]}
    assert merge_updates(one, None, {"messages": ["b"], "g": [2]}) == {
        "messages": ["a", "b"],
        "f": [1],
        "g": [2],
    }
    assert merge_updates(None, None) is None
    assert one == {"messages": ["a"], "f": [1]}


# -- progress -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "nothing"),
    [
        ("", True),
        (" \n", True),
        ("No files found in /x", True),
        ("ERROR: broken", True),
        ("errors: 0", False),
    ],
)
def test_what_tells_nothing(text, nothing):
    assert is_uninformative(text) is nothing


def test_progress_is_something_new():
    turn = current_turn(
        [
            HumanMessage("q"),
            calling(("a", {"n": 1}, "1")),
            result("new", "1"),
            calling(("a", {"n": 1}, "2")),
            result("new", "2"),
            calling(("a", {"n": 2}, "3")),
            result("fresh", "3", status="error"),
        ],
        OWN,
    )
    idle = idle_since_progress(turn)
    assert (idle.model_calls, idle.tool_results) == (2, 2)


@given(st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 1)), max_size=12), st.integers(1, 3))
def test_repeats_are_the_equal_calls_at_the_end(calls, size):
    """However the calls are spread over messages."""
    groups = [calls[start : start + size] for start in range(0, len(calls), size)]
    messages = [
        calling(
            *[(name, {"n": number, "m": 0}, f"{at}-{place}") for place, (name, number) in enumerate(group)]
        )
        for at, group in enumerate(groups)
    ]
    expected = 0
    while expected < len(calls) and calls[-1 - expected] == calls[-1]:
        expected += 1
    assert repeated_calls(current_turn([HumanMessage("q"), *messages], OWN)) == expected


@pytest.mark.parametrize(
    ("results", "expected"),
    [
        (["10%", "20%", "30%"], 1),
        (["10%", "20%", "20%", "20%"], 3),
        (["10%", "", "Error: busy"], 3),
        (["10%", "", "20%"], 1),
        (["", "20%", ""], 2),
    ],
)
def test_equal_calls_with_new_results_are_no_repeats(results, expected):
    messages = [
        item
        for at, text in enumerate(results)
        for item in (calling(("a", {"n": 1}, str(at))), result(text, str(at)))
    ]
    assert repeated_calls(current_turn([HumanMessage("q"), *messages], OWN)) == expected


def test_a_failure_is_never_something_new():
    messages = [
        item
        for at in range(3)
        for item in (calling(("a", {}, str(at))), result(f"try {at}", str(at), status="error"))
    ]
    assert repeated_calls(current_turn([HumanMessage("q"), *messages], OWN)) == 3


def test_the_order_of_arguments_does_not_make_another_call():
    messages = [calling(("a", {"x": 1, "y": 2}, "1")), calling(("a", {"y": 2, "x": 1}, "2"))]
    assert repeated_calls(current_turn([HumanMessage("q"), *messages], OWN)) == 2


def test_limits():
    turn = current_turn([HumanMessage("q"), calling(("a", {}, "1")), result("x", "1")], OWN)
    assert TurnLimits(1, 9).reached(turn)
    assert TurnLimits(9, 1).reached(turn)
    assert not TurnLimits(2, 2).reached(turn)
    with pytest.raises(ValueError, match="ai_messages"):
        TurnLimits(0, 1)


# -- vocabulary -----------------------------------------------------------------------------------


def test_words_of_a_name():
    assert name_words("Slack_postMessage2") == ["slack", "post", "message2"]
    assert name_words("a-b.c") == ["a", "b", "c"]
    assert name_words("") == []


@given(st.text())
def test_words_of_any_name(name):
    assert all(word == word.lower() and word for word in name_words(name))


def test_the_vocabulary_is_data():
    assert WORDS.is_mutation("sendEmail")
    assert not WORDS.is_mutation("get_send_log")
    assert not WORDS.is_domain("ls")
    assert not WORDS.is_domain("__internal")


def test_names_of_tools_in_any_form():
    tools = [{"name": "a"}, {"type": "function", "function": {"name": "b"}}, {"type": "web_search"}, object()]
    assert tool_names(tools) == {"a", "b"}


# -- responses ------------------------------------------------------------------------------------


def shout(message):
    return message.model_copy(update={"content": message.text.upper()}) if message.text else message


def test_answers_are_changed_in_every_form():
    inner = ModelResponse(result=[AIMessage("hi"), result("kept", "c")])
    assert map_ai_messages(AIMessage("hi"), shout).text == "HI"
    assert [item.text for item in map_ai_messages(inner, shout).result] == ["HI", "kept"]
    assert map_ai_messages(ExtendedModelResponse(inner), shout).model_response.result[0].text == "HI"
    assert inner.result[0].text == "hi"


def test_an_unchanged_answer_is_the_same_object():
    for response in (ModelResponse(result=[AIMessage("")]), ExtendedModelResponse(ModelResponse(result=[]))):
        assert map_ai_messages(response, shout) is response


# -- guards ---------------------------------------------------------------------------------------


class PoliteState(AgentState):
    polite: NotRequired[Annotated[list[str], PrivateStateAttr]]


class Polite(AnswerGuard):
    state_schema = PoliteState
    messages = OWN
    message_name = "my_guard"
    flag = "polite"
    risk = TurnLimits(3, 3)

    def objection(self, answer, turn):
        return None if "please" in answer.text else f"Say please to {turn.text!r}."


def agent(turns, **options):
    model = ScriptedChatModel(turns)
    return model, create_agent(model, middleware=[Polite()], **options)


@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_guard_sends_back_once_a_turn(mode):
    model, graph = agent(["no", "still no", "no!", "if you please"], checkpointer=InMemorySaver())
    config = {"configurable": {"thread_id": "1"}}
    for text in ("one", "two"):
        given = {"messages": text}
        state = graph.invoke(given, config) if mode == "sync" else await graph.ainvoke(given, config)
    said = [(message.name, message.text) for message in state["messages"]]
    assert [text for name, text in said if name == "my_guard"] == [
        "Say please to 'one'.",
        "Say please to 'two'.",
    ]
    assert (said[-1][1], model.turns_left) == ("if you please", 0)
    assert "polite" not in state


def test_a_guard_holds_still_in_a_loop():
    _, graph = agent(["no"])
    before = [HumanMessage("q"), AIMessage("a"), OWN.nudge("my_guard", "x"), AIMessage("b")]
    assert graph.invoke({"messages": before})["messages"][-1].text == "no"


def test_flags_can_be_written_as_json():
    turn = current_turn([HumanMessage("a")], OWN)
    assert json.loads(json.dumps(flag_update({}, "f", turn))) == {"f": [turn.key]}
