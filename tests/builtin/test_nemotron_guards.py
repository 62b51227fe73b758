"""Nemotron's guards of the final answer, in agents with and without the profile."""

import subprocess
import sys

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from deepagents_builtin.profiles.harness.nemotron.entities import missing_lookups
from deepagents_builtin.profiles.harness.nemotron.exact_reply import exact_reply_given
from deepagents_builtin.profiles.harness.nemotron.final_answer_guard import (
    FinalAnswerGuardMiddleware,
    is_vague,
)
from deepagents_builtin.profiles.harness.nemotron.followup_guard import FollowupDisciplineMiddleware
from deepagents_builtin.profiles.harness.nemotron.names import turn_of
from deepagents_kernel import Kernel, create_deep_agent
from deepagents_kernel.testing import ScriptedChatModel

KERNEL = Kernel()
THREAD = {"configurable": {"thread_id": "1"}}


@tool
def publish_release(version: str, title: str = "") -> str:
    """Publish it."""
    return f"published {version}" if version else ""


@tool
def get_current_user_id() -> str:
    """Who it is."""
    return "4711"


@tool
def get_user_team(user_id: str) -> str:
    """Which team."""
    return "8899"


@tool
def get_team_name(team_id: str) -> str:
    """What it is called."""
    return "Harbour"


def agent(turns, *, profile=True, tools=(publish_release,), **options):
    provider = "NVIDIA" if profile else "another"
    model = ScriptedChatModel(turns, provider=provider, model_name="nvidia/nemotron-3-ultra-550b-a55b")
    return model, create_deep_agent(model, tools=list(tools), kernel=KERNEL, **options)


def named(state):
    found = [message.name for message in state["messages"] if message.type == "human" and message.name]
    return [name for name in found if name.startswith("nemotron_")]


def publish(version="v1.2", **more):
    return [("publish_release", {"version": version, **more})]


def steps(*calls, status="success"):
    """Messages of calls ``(name, args, result)``."""
    messages = []
    for number, (name, args, text) in enumerate(calls):
        messages.append(AIMessage("", tool_calls=[{"name": name, "args": args, "id": str(number)}]))
        messages.append(ToolMessage(text, tool_call_id=str(number), name=name, status=status))
    return messages


def turn(request, *messages):
    return turn_of([HumanMessage(request, id="u"), *messages])


def objection(guard, request, answer, *messages):
    message = AIMessage(answer)
    return guard.objection(message, turn(request, *messages, message))


# -- exact replies --------------------------------------------------------------------------------


@pytest.mark.spec("NEMO-017")
@pytest.mark.parametrize(
    ("request_", "answer", "given"),
    [
        ("Reply with exactly: OK", "OK", True),
        ("Reply with exactly 'All good'.", '"All  good".', True),
        ("Reply with exactly OK", "ok", False),
        ("Respond with a single word.", "Done.", True),
        ("Respond with a single word.", "All done.", False),
        ("Answer with one word: 'DONE'", "DONE", True),
        ("Answer with one word: 'DONE'", "Finished", False),
        ("Return with DONE only", "DONE", True),
        ("Answer with only yes", "yes", True),
        ("Reply with a poem", "Done", False),
        ("Respond with a single word.", "", False),
    ],
)
def test_exact_replies(request_, answer, given):
    assert exact_reply_given(request_, answer) is given


@pytest.mark.spec("NEMO-017")
def test_exact_replies_in_long_requests():
    assert exact_reply_given("x " * 9000 + "Reply with exactly: OK", "OK")
    assert exact_reply_given("Reply with exactly: OK\n" + "x " * 9000, "OK")
    assert exact_reply_given("Reply\twith \n\n  exactly :  All   good", "All good")
    assert not exact_reply_given("x " * 4500 + "Reply with exactly: OK" + " x" * 4500, "OK")


def test_no_text_keeps_a_pattern_busy():
    """Of these, one that is looked at again from each of its places would take hours."""
    code = """
from deepagents_builtin.profiles.harness.nemotron import exact_reply, followup_guard, wording
from deepagents_builtin.profiles.harness.nemotron import read_continuation
long = 300_000
blanks = " " * long
for text in (f"Reply with{blanks}x", f"Reply with only{blanks}only x", "reply with x " * long):
    exact_reply.exact_reply_given(text, "Done")
for text in ("x " * long, "x" * long, "` " * long, '" ' * long, "Dear " * long, "- " * long, "? " * long):
    followup_guard.asked(text)
    followup_guard.mostly_asks(text)
    list(followup_guard.question_faults(text, [text], at_work=False))
    wording.asks_to_act(text)
    wording.asks_lookup_then_action(text)
for text in ("\\n" * long, " " * long, "\\n \\t" * long, "1" * long):
    read_continuation.shown_lines(text)
"""
    subprocess.run([sys.executable, "-c", code], check=True, timeout=20)


@pytest.mark.spec("NEMO-017")
def test_an_exact_reply_is_not_sent_back():
    _, graph = agent([publish(title="Spring"), "Done"])
    state = graph.invoke({"messages": "Publish v1.2 as Spring. Reply with a single word."})
    assert (state["messages"][-1].text, named(state)) == ("Done", [])
    request = "Every week, send me a report from my inbox. Reply with exactly: 'From where?'"
    assert objection(FollowupDisciplineMiddleware(), request, "From where?") is None


# -- final answer ---------------------------------------------------------------------------------


@pytest.mark.spec("NEMO-090")
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_an_answer_names_what_was_changed(mode):
    for profile, expected in ((True, "Spring (V1.2) is out"), (False, "It is out")):
        turns = [publish(title="Spring"), "It is out", "Spring (V1.2) is out"]
        _, graph = agent(turns, profile=profile)
        given = {"messages": "Publish version 1.2"}
        state = graph.invoke(given) if mode == "sync" else await graph.ainvoke(given)
        assert state["messages"][-1].text == expected
        assert named(state) == (["nemotron_final_answer_guard"] if profile else [])
    assert "nemotron_final_guard_fired" not in state


@pytest.mark.spec("NEMO-090")
@pytest.mark.parametrize(
    ("call", "answer", "missing"),
    [
        (("send_mail", {"subject": "Hi"}, "ok"), "Mailed to Ada", False),
        (("send_mail", {"subject": "Hello Ada"}, "ok"), "Mailed to Ada", True),
        (("send_mail", {"subject": "x" * 81}, "ok"), "Mailed to Ada", False),
        (("send_mail", {"body": "about v2.0.1"}, "ok"), "Mailed to Ada", True),
        (("send_mail", {"body": "about v2"}, "ok"), "Mailed to Ada", False),
        (("send_mail", {"subject": "Hello Ada"}, "ok"), "I sent 'hello ada'", False),
        (("get_send_log", {"subject": "Hello Ada"}, "ok"), "Nothing was sent", False),
        (("write_file", {"title": "Hello Ada"}, "ok"), "Written", False),
    ],
)
def test_the_literals_that_an_answer_needs(call, answer, missing):
    text = objection(FinalAnswerGuardMiddleware(), "send it", answer, *steps(call))
    assert (text is not None) is missing


def test_a_change_that_failed_needs_no_title():
    messages = steps(("send_mail", {"subject": "Hello Ada"}, "no server"), status="error")
    assert objection(FinalAnswerGuardMiddleware(), "send it", "The server is down", *messages) is None


@pytest.mark.spec("NEMO-090", "NEMO-019")
def test_literals_of_earlier_turns_are_not_demanded():
    turns = [
        publish(title="Spring"),
        "Spring v1.2 is out",
        "It is sunny",
        publish("v3.1"),
        "Out",
        "v3.1 is out",
    ]
    _, graph = agent(turns, checkpointer=InMemorySaver())
    graph.invoke({"messages": "Publish"}, THREAD)
    assert named(graph.invoke({"messages": "And the weather"}, THREAD)) == []
    assert named(graph.invoke({"messages": "Publish the next"}, THREAD)) == ["nemotron_final_answer_guard"]


@pytest.mark.spec("NEMO-019")
def test_a_guard_fires_once_in_each_turn():
    turns = [publish(), "out", "still out", publish("v2.0"), "out again", "v2.0 is out"]
    model, graph = agent(turns, checkpointer=InMemorySaver())
    first = graph.invoke({"messages": "Publish"}, THREAD)
    assert (first["messages"][-1].text, len(named(first))) == ("still out", 1)
    second = graph.invoke({"messages": "Publish the next"}, THREAD)
    assert (second["messages"][-1].text, len(named(second)), model.turns_left) == ("v2.0 is out", 2, 0)


@pytest.mark.spec("NEMO-016")
def test_guards_stay_on_in_a_long_thread_and_hold_still_in_a_long_turn():
    talk = [message for _ in range(10) for message in (HumanMessage("q"), AIMessage("a"))]
    _, graph = agent([publish(), "out", "v1.2 is out"])
    state = graph.invoke({"messages": [*talk, HumanMessage("Publish")]})
    assert named(state) == ["nemotron_final_answer_guard"]
    _, graph = agent([publish(f"v1.{n}") for n in range(7)] + ["out"])
    assert named(graph.invoke({"messages": "Publish all"})) == []


@pytest.mark.spec("NEMO-091")
@pytest.mark.parametrize(
    ("answer", "vague"),
    [
        ("Done.", True),
        ("All done!", True),
        ("It has been completed successfully.", True),
        ("OK", True),
        ("I've updated it", False),
        ("Published 1.2", False),
        ("Done: the order is refunded", False),
    ],
)
def test_vague_answers(answer, vague):
    assert is_vague(answer) is vague
    messages = steps(("publish_release", {"version": "x"}, "published x"))
    assert (objection(FinalAnswerGuardMiddleware(), "publish", answer, *messages) is not None) is vague
    silent = steps(("publish_release", {"version": "x"}, ""))
    assert objection(FinalAnswerGuardMiddleware(), "publish", answer, *silent) is None


# -- follow-up questions --------------------------------------------------------------------------


WEEKLY = "Every Monday, send me a summary of the tickets"


@pytest.mark.spec("NEMO-080")
@pytest.mark.parametrize(
    ("request_", "answer", "fires"),
    [
        (WEEKLY, "How often should I send it, and to which address?", True),
        (WEEKLY, "To which address should I send it?", False),
        (WEEKLY, "Send it where? Which tone? Which language?", True),
        (WEEKLY, "Which tone do you like?", True),
        ("Summarise the mails from my inbox", "Which inbox is the source?", True),
        ("Count all orders of last month", "Which period do you mean?", True),
        ("Analyse my sales data", "Which format is it in?", True),
        ("Analyse my sales data", "What decision is it for?", False),
        ("Draft responses to support tickets", "How long should they be?", True),
        ("Draft responses to support tickets", "Which product are they about?", False),
        ("Draft responses to support tickets", "Sure. How long should they be? Anything else?", True),
        ("Draft responses to support tickets", "Shall I be brief?", True),
        (WEEKLY, "I will gladly write it and send it. How often should it come?", True),
    ],
)
def test_questions_that_miss_the_point(request_, answer, fires):
    assert (objection(FollowupDisciplineMiddleware(), request_, answer) is not None) is fires


@pytest.mark.spec("NEMO-080")
@pytest.mark.parametrize(
    ("request_", "answer"),
    [
        ("I have a question: what is 2 + 2", "4. Anything else?"),
        ("Answer this question", "Which one?"),
        ("What is data analysis?", "A craft. More?"),
        ("Analyse this data: 1, 2, 3", "The mean is 2."),
        (WEEKLY, "I will, on Mondays."),
        (WEEKLY, "See `a?b` and https://x.example/?often=1"),
        ("How do weekly reports work?", "How often do you need one?"),
        (
            "Draft a reply to the customer below: 'My parcel is late.'",
            "Dear Ann, we are sorry. Your parcel arrives Monday. Is there anything else we can do?",
        ),
        ("Draft a reply to the customer", "Here it is:\n\nHi Ann,\nwhen did it come?\nBest, Bo"),
        ("Draft a reply to the customer", 'I would ask: "When did it come, and who took it?"'),
        ("Draft a reply to the customer", "> When did it come?\nThis is all they need to hear."),
        ("Analyze this data: 1, 2, 3", "The mean is 2 and the range 2. Shall I plot it?"),
        ("Analyze this data: 1, 2, 3", "The mean is 2 and the range is 2, too. Which format?"),
        ("Write a limerick about my daily coffee report", "There was a man. Do you like it?"),
        ("I check the weekly report. Fix the typo: 'teh'", "'the'. Anything else?"),
        ("Summarise all of chapter 2", "It is about X. Shall I also say which parts matter?"),
    ],
)
def test_harmless_words_do_not_fire(request_, answer):
    assert objection(FollowupDisciplineMiddleware(), request_, answer) is None


@pytest.mark.spec("NEMO-080")
def test_a_bad_question_is_sent_back():
    turns = ["How often should it come?", "To which address?"]
    for profile, expected in ((True, turns[1]), (False, turns[0])):
        _, graph = agent(turns, profile=profile)
        state = graph.invoke({"messages": WEEKLY})
        assert state["messages"][-1].text == expected
        assert named(state) == (["nemotron_followup_guard"] if profile else [])


# -- entities -------------------------------------------------------------------------------------


ENTITY_TOOLS = (get_current_user_id, get_user_team, get_team_name)
ALL = {item.name for item in ENTITY_TOOLS}


def lookups(request, *calls, offered=ALL, answer=""):
    return missing_lookups(request, turn(request, *steps(*calls)).calls, offered, answer)


@pytest.mark.spec("NEMO-085")
def test_lookups_that_are_missing():
    user, team = ("get_current_user_id", {}, "4711"), ("get_user_team", {"user_id": "4711"}, "8899")
    assert "get_current_user_id" in lookups("What does the current user own")[0]
    assert "get_user_team with user_id=4711" in lookups("Which team is it", user)[0]
    assert "get_team_name with team_id=8899" in lookups("Rename that team", user, team)[0]
    assert lookups("Which team is it", user, team, ("get_team_name", {"team_id": "8899"}, "Harbour")) == []
    (text,) = lookups("Where do I belong", user, team, answer="To 8899.")
    assert "8899 is the id of a team: call get_team_name" in text


@pytest.mark.spec("NEMO-085")
@pytest.mark.parametrize(
    ("request_", "offered", "answer"),
    [
        ("What does the current user own", set(), ""),
        ("Read that file, which line is it", ALL, ""),
        ("When was it", ALL, "In 2024"),
        ("Which team is it", ALL, ""),
    ],
)
def test_nothing_is_missing_that_nobody_can_look_up(request_, offered, answer):
    assert lookups(request_, offered=offered, answer=answer) == []


@pytest.mark.spec("NEMO-085", "NEMO-086", "NEMO-019")
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_both_variants_of_the_guard(mode):
    first = [
        [("get_current_user_id", {})],
        [("get_user_team", {"user_id": "4711"})],
        "Team 8899",
        [("get_team_name", {"team_id": "8899"})],
        "Team Harbour",
    ]
    model, graph = agent(first * 2, tools=ENTITY_TOOLS, checkpointer=InMemorySaver())
    for count in (1, 2):
        given = {"messages": "Which team does the current user have"}
        state = graph.invoke(given, THREAD) if mode == "sync" else await graph.ainvoke(given, THREAD)
        assert state["messages"][-1].text == "Team Harbour"
        assert named(state) == ["nemotron_entity_guard"] * 2 * count
    # After the first lookup, and for the first answer.
    assert [request.messages[-1].name == "nemotron_entity_guard" for request in model.requests[:5]] == [
        *(False, True, False, True, False)
    ]


@pytest.mark.spec("NEMO-086")
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_the_tools_are_known_where_a_run_goes_on(mode):
    """Another process has instances of its own: what they know they know from the checkpoint."""
    kept = InMemorySaver()
    options = {"tools": ENTITY_TOOLS, "checkpointer": kept, "interrupt_on": {"get_current_user_id": True}}
    _, graph = agent([[("get_current_user_id", {})]], **options)
    given = {"messages": "Which team does the current user have"}
    graph.invoke(given, THREAD) if mode == "sync" else await graph.ainvoke(given, THREAD)
    model, graph = agent(["Team 8899", "Team Harbour"], **options)
    decision = Command(resume={"decisions": [{"type": "approve"}]})
    state = graph.invoke(decision, THREAD) if mode == "sync" else await graph.ainvoke(decision, THREAD)
    assert model.requests[0].messages[-1].name == "nemotron_entity_guard"
    assert "get_user_team" in model.requests[0].messages[-1].text
    assert "nemotron_entity_tools" not in state


@pytest.mark.spec("NEMO-086")
def test_without_the_profile_ids_go_out():
    turns = [[("get_current_user_id", {})], [("get_user_team", {"user_id": "4711"})], "Team 8899"]
    _, graph = agent(turns, profile=False, tools=ENTITY_TOOLS)
    assert (
        graph.invoke({"messages": "Which team does the current user have"})["messages"][-1].text
        == "Team 8899"
    )


# -- together -------------------------------------------------------------------------------------


@pytest.mark.spec("NEMO-020")
def test_the_guards_take_their_turns():
    turns = [
        [("get_current_user_id", {}), ("get_user_team", {"user_id": "4711"})],
        publish(),
        "Done for 8899. How often?",
        "v1.2 for 8899. How often?",
        "v1.2 for the team. How often?",
        "v1.2, weekly",
    ]
    _, graph = agent(turns, tools=(*ENTITY_TOOLS, publish_release))
    state = graph.invoke({"messages": "Send my report every week"})
    assert named(state) == ["nemotron_final_answer_guard", "nemotron_entity_guard", "nemotron_followup_guard"]
    assert state["messages"][-1].text == "v1.2, weekly"
