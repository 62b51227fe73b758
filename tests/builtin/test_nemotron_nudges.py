"""Nemotron's progress budget and policy nudges, in agents with and without the profile."""

import pytest
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver

from deepagents_builtin.profiles.harness.nemotron import nudge_texts, wording
from deepagents_builtin.profiles.harness.nemotron.names import turn_of
from deepagents_builtin.profiles.harness.nemotron.policy_nudges import NemotronPolicyNudgeMiddleware
from deepagents_builtin.profiles.harness.nemotron.progress_budget import (
    REASON_KEY,
    NemotronProgressBudgetMiddleware,
    ProgressBudget,
    budget_message,
)
from deepagents_kernel import Kernel, create_deep_agent
from deepagents_kernel.testing import ScriptedChatModel

KERNEL = Kernel()
THREAD = {"configurable": {"thread_id": "1"}}


@tool
def lookup_order(order: int) -> str:
    """Find an order."""
    return f"order {order} is open" if order else ""


@tool
def cancel_order(order: int) -> str:
    """Cancel an order."""
    return f"order {order} is cancelled"


def agent(turns, *, profile=True, tools=(lookup_order, cancel_order), **options):
    provider = "NVIDIA" if profile else "another"
    model = ScriptedChatModel(
        turns, provider=provider, model_name="nvidia/nemotron-3-ultra-550b-a55b", repeat_last=True
    )
    return model, create_deep_agent(model, tools=list(tools), kernel=KERNEL, **options)


def named(messages):
    return [message.name for message in messages if message.name and message.name.startswith("nemotron_")]


def step(number, name="t", text="", args=None):
    call = {"name": name, "args": args or {}, "id": str(number)}
    return [AIMessage("", tool_calls=[call]), ToolMessage(text, tool_call_id=str(number), name=name)]


def turn(*steps, text="q"):
    return turn_of([HumanMessage(text, id="u"), *(message for part in steps for message in part)])


# -- budget ---------------------------------------------------------------------------------------


@pytest.mark.spec("NEMO-030", "NEMO-031")
def test_only_turns_without_progress_are_counted():
    budget = ProgressBudget()
    working = [step(n, args={"n": n}, text=f"page {n}") for n in range(60)]
    assert budget.reason(turn(*working)) == ""
    idle = [step(n, args={"n": n}, text="No matches found") for n in range(60, 76)]
    assert budget.reason(turn(*working, *idle[:15])) == ""
    assert budget.reason(turn(*working, *idle)) == "16 model turns without progress"


@pytest.mark.spec("NEMO-031")
def test_the_order_of_reasons():
    same = [step(n, text="") for n in range(16)]
    assert ProgressBudget().reason(turn(*same)).startswith("16 model turns")
    assert ProgressBudget(99, 16).reason(turn(*same)).startswith("16 tool results")
    assert ProgressBudget(99, 99).reason(turn(*same)) == "the same tool call 16 times in a row"
    assert ProgressBudget(99, 99, 17).reason(turn(*same)) == ""


@pytest.mark.spec("NEMO-031")
def test_the_limits_are_the_same_for_both():
    expected = ProgressBudget(max_model_calls=16, max_tool_results=48, max_repeated_tool_calls=3)
    assert ProgressBudget() == NemotronProgressBudgetMiddleware().budget == expected


@pytest.mark.spec("NEMO-031")
def test_who_waits_for_something_gets_on():
    polls = [step(n, text=f"{n}0% complete") for n in range(1, 9)]
    assert ProgressBudget().reason(turn(*polls)) == ""
    stuck = [step(n, text="80% complete") for n in (9, 10)]
    assert ProgressBudget().reason(turn(*polls, stuck[0])) == ""
    assert ProgressBudget().reason(turn(*polls, *stuck)) == "the same tool call 3 times in a row"
    assert ProgressBudget().reason(turn(*polls, step(9, text=""), step(10, text="Error: busy")))


@pytest.mark.spec("NEMO-031")
def test_another_call_in_between_is_no_succession():
    calls = [step(1, args={"a": 1, "b": 2}), step(2, name="other"), step(3, args={"b": 2, "a": 1})]
    assert ProgressBudget(max_repeated_tool_calls=2).reason(turn(*calls)) == ""
    assert ProgressBudget(max_repeated_tool_calls=2).reason(turn(*calls, step(4, args={"a": 1, "b": 2})))


@pytest.mark.parametrize("field", ["max_model_calls", "max_tool_results", "max_repeated_tool_calls"])
def test_a_budget_of_nothing_is_refused(field):
    with pytest.raises(ValueError, match=field):
        NemotronProgressBudgetMiddleware(**{field: 0})


@pytest.mark.spec("NEMO-030", "NEMO-031")
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_loop_ends_before_the_next_model_call(mode):
    model, graph = agent([[("lookup_order", {"order": 7})]])
    given = {"messages": "what about order 7"}
    state = graph.invoke(given) if mode == "sync" else await graph.ainvoke(given)
    last = state["messages"][-1]
    assert (last.type, last.name, len(model.requests)) == ("ai", "nemotron_progress_budget", 3)
    assert last.response_metadata[REASON_KEY] == "the same tool call 3 times in a row"
    assert last.text.count("order 7 is open") == 1
    assert not last.tool_calls


def test_without_the_profile_a_loop_goes_on():
    model, graph = agent([[("lookup_order", {"order": 7})]] * 6 + ["enough"], profile=False)
    assert graph.invoke({"messages": "q"})["messages"][-1].text == "enough"
    assert len(model.requests) == 7


@pytest.mark.spec("NEMO-030")
def test_the_next_turn_has_a_budget_of_its_own():
    loop = [[("lookup_order", {"order": 7})]] * 3
    _, graph = agent([*loop, *loop[:2], "open"], checkpointer=InMemorySaver())
    assert named(graph.invoke({"messages": "q"}, THREAD)["messages"]) == ["nemotron_progress_budget"]
    assert graph.invoke({"messages": "again"}, THREAD)["messages"][-1].text == "open"


@pytest.mark.spec("NEMO-032", "NEMO-033")
def test_the_text_of_the_budget_message():
    steps = [
        step(1, text="No files found"),
        step(2, text="error: broken"),
        *(step(n, text=f"line {n}\n  of   text") for n in range(3, 17)),
        step(20, text="line 3 of text"),
        step(21, text="x" * 600),
    ]
    text = budget_message(turn(*steps), "why").text
    lines = text.splitlines()
    assert lines[1:] == [f"- line {n} of text" for n in range(3, 15)]
    assert "why" in lines[0]
    few = budget_message(turn(steps[0], step(2, text="x" * 600), step(3, text="")), "why").text.splitlines()
    assert few[1:] == [f"- {'x' * 497}...", "- No files found"]


@pytest.mark.spec("NEMO-032")
def test_the_budget_message_without_results():
    message = budget_message(turn(), "16 model turns without progress")
    assert "not completed within the step budget" in message.text
    assert "16 model turns" in message.text
    assert message.additional_kwargs["lc_source"] == message.name == "nemotron_progress_budget"


# -- advice that is only sent ---------------------------------------------------------------------


@pytest.mark.spec("NEMO-040", "NEMO-042")
def test_domain_tools_come_first():
    model, graph = agent([[("lookup_order", {"order": 7})], "open"])
    state = graph.invoke({"messages": "what about order 7"})
    first, second = model.requests
    assert named(first.messages) == ["nemotron_domain_tool_preference"]
    assert "lookup_order, cancel_order" in first.messages[-1].text
    assert named(second.messages) == named(state["messages"]) == []


@pytest.mark.spec("NEMO-040")
def test_where_domain_tools_are_not_advised():
    for options in ({"profile": False}, {"tools": ()}):
        model, graph = agent(["x"], **options)
        graph.invoke({"messages": "what about order 7"})
        assert named(model.requests[0].messages) == []
    model, graph = agent(["x"])
    graph.invoke({"messages": "what about the orders in the folder"})
    assert named(model.requests[0].messages) == []


@pytest.mark.spec("NEMO-040")
def test_the_advice_names_twelve_tools():
    text = nudge_texts.domain_tool_preference([f"t{n}" for n in range(12)])
    assert "t11" in text

    tools = []
    for number in range(14):

        def run() -> str:
            """Run."""
            return "x"

        tools.append(tool(f"crm_{number}")(run))
    model, graph = agent(["x"], tools=tools)
    graph.invoke({"messages": "hello"})
    assert "crm_11" in model.requests[0].messages[-1].text
    assert "crm_12" not in model.requests[0].messages[-1].text


@pytest.mark.spec("NEMO-041", "NEMO-042")
@pytest.mark.parametrize("text", ["Summarise report.pdf", "please read the attached\nnotes/today.md file"])
def test_files_are_tried_before_access_is_denied(text):
    model, graph = agent(["x"])
    state = graph.invoke({"messages": text})
    assert named(model.requests[0].messages) == ["nemotron_filesystem_request_nudge"]
    assert named(state["messages"]) == []


@pytest.mark.spec("NEMO-041")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("analyze" + " x" * 79 + " data.csv", True),
        ("analyze" + " x" * 90 + " data.csv", False),
        ("how do I process a claim", False),
        ("profiles are nice", False),
        ("edit /notes/a", True),
    ],
)
def test_what_is_work_on_a_file(text, wanted):
    assert wording.asks_for_file_work(text) is wanted


# -- nudges that stay -----------------------------------------------------------------------------


@pytest.mark.spec("NEMO-043", "NEMO-019")
def test_a_new_task_suggests_compaction_once_a_turn():
    turns = [
        [("lookup_order", {"order": 1})],
        "one",
        [("lookup_order", {"order": 2})],
        "two",
        "three",
        "four",
    ]
    model, graph = agent(turns, checkpointer=InMemorySaver())
    for text in ("order 1", "order 2", "Now a different task: a poem", "Another topic please"):
        state = graph.invoke({"messages": text}, THREAD)
    assert named(state["messages"]) == ["nemotron_transition_nudge"] * 2
    sent = [message.text for message in model.requests[-1].messages if message.type == "human"]
    assert any("compact_conversation" in text for text in sent)
    assert "nemotron_transition_nudged" not in state


@pytest.mark.spec("NEMO-043")
@pytest.mark.parametrize(
    ("earlier", "text", "wanted"),
    [
        ([HumanMessage("a"), *step(1, "ls", "x"), *step(2), AIMessage("b")], "now look at notes.md", True),
        ([HumanMessage("a"), *step(1), *step(2), AIMessage("b")], "now look at notes.md", False),
        ([HumanMessage("a"), *step(1), *step(2), AIMessage("b")], "a new task", True),
        ([HumanMessage("a"), AIMessage("b")], "a new task", False),
        ([HumanMessage("a"), *step(1), AIMessage("b")], "a new task", False),
        ([HumanMessage("a"), *step(1), AIMessage("b"), AIMessage("c")], "a new task", True),
        ([AIMessage("b")] * 6, "a new task", False),
    ],
)
def test_what_suggests_compaction(earlier, text, wanted):
    update = NemotronPolicyNudgeMiddleware().before_model(
        {"messages": [*earlier, HumanMessage(text, id="u")]}, None
    )
    assert ("nemotron_transition_nudge" in named((update or {}).get("messages", []))) is wanted


@pytest.mark.spec("NEMO-043")
def test_what_is_compacted_already_needs_no_suggestion():
    earlier = [HumanMessage("a"), *step(1, "ls", "x"), *step(2), AIMessage("b")]
    messages = [*earlier, HumanMessage("a new task", id="u"), *step(3, "compact_conversation", "done")]
    assert NemotronPolicyNudgeMiddleware().before_model({"messages": messages}, None) is None


@pytest.mark.spec("NEMO-044", "NEMO-019")
def test_go_ahead_means_act():
    turns = [[("lookup_order", {"order": 1})], "Shall I cancel?", "ok", "fine"]
    _, graph = agent(turns, checkpointer=InMemorySaver())
    for text in ("order 1", "Yes, go ahead.", "Please proceed."):
        state = graph.invoke({"messages": text}, THREAD)
    assert named(state["messages"]) == ["nemotron_action_commit_nudge"] * 2


@pytest.mark.spec("NEMO-044")
@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("Go ahead", True),
        ("Cancel it.", True),
        ("Could you send it now?", True),
        ("Good. Now cancel the order", True),
        ("now", True),
        ("What happens now?", False),
        ("Don't send it yet", False),
        ("How do I proceed?", False),
        ("If it is open, cancel it", False),
        ("I know nowhere to go", False),
        ("Yes, please go ahead and cancel it", True),
        ("Ok, then do it.", True),
        ("Do so please", True),
        ("I approve.", True),
        ("Approved, thanks", True),
        ("Go ahead with the refund", True),
        ("Fine. Please send  them", True),
        ("Can you cancel that?", True),
        ("Thanks. We had to cancel it, by the way.", False),
        ("I can't delete it now", False),
        ("He will send it.", False),
        ("She told me to proceed with caution.", False),
        ("Proceed with caution", False),
        ("Tell me how to close it", False),
        ("I already cancelled it and will book that tomorrow.", False),
        ("You may proceed to the exit", False),
        ("I approve of your style", False),
        ("They delete them every night.", False),
        ("Nobody could close it.", False),
        ("My boss said: go ahead and rest", False),
        ("Go ahead and rest", False),
        ("Great, that update this morning was good", False),
        ("I have read and approved the plan, thanks.", False),
        ("Please close the window. It is cold now.", False),
        ("Can you tell me how to send it now?", False),
        ("Do that and this differ?", False),
        ("yes " * 2000 + "cancel it", False),
    ],
)
def test_what_is_a_word_to_act(text, wanted):
    assert wording.asks_to_act(text) is wanted


@pytest.mark.spec("NEMO-044")
def test_acting_needs_something_done_before():
    _, graph = agent(["ok"])
    assert named(graph.invoke({"messages": "Go ahead"})["messages"]) == []


@pytest.mark.spec("NEMO-045")
def test_a_lookup_is_followed_by_the_action():
    turns = [
        [("lookup_order", {"order": 1})],
        [("lookup_order", {"order": 2})],
        [("cancel_order", {"order": 1})],
        "order 1 is cancelled",
    ]
    for profile, expected in ((True, ["nemotron_tool_chain_nudge"]), (False, [])):
        model, graph = agent(turns, profile=profile)
        state = graph.invoke({"messages": "Find order 1 and then cancel it"})
        assert named(state["messages"]) == expected
        assert named(model.requests[1].messages[-1:]) == expected


@pytest.mark.spec("NEMO-045")
@pytest.mark.parametrize(
    ("steps", "text", "wanted"),
    [
        ([step(1, "lookup_order", "x")], "Find order 1 and cancel it", True),
        ([step(1, "cancel_order", "x")], "Find order 1 and cancel it", False),
        ([step(1, "lookup_order", "x")], "Find order 1 and tell me about it", False),
        ([step(1, "lookup_order", "x")], "Find it, and then don't send anything", False),
        ([step(1, "lookup_order", "x")], "Please look up order 1. Then cancel it.", True),
        ([step(1, "lookup_order", "x")], "I'd like you to find order 1 and cancel it", True),
        ([step(1, "lookup_order", "x")], "How do I find users and delete them?", False),
        ([step(1, "lookup_order", "x")], "Explain how to find users and delete them", False),
        ([step(1, "lookup_order", "x")], "Find out how to list users and delete them", False),
        ([step(1, "lookup_order", "x")], "They find my orders and cancel them", False),
    ],
)
def test_when_the_chain_is_continued(steps, text, wanted):
    messages = turn(*steps, text=text).messages
    update = NemotronPolicyNudgeMiddleware().before_model({"messages": messages}, None)
    assert (update is not None) is wanted


@pytest.mark.spec("NEMO-046")
def test_an_empty_file_search_leads_back():
    turns = [[("lookup_order", {"order": 1})], [("glob", {"pattern": "*.order"})], "open"]
    _, graph = agent(turns)
    assert named(graph.invoke({"messages": "order 1"})["messages"]) == ["nemotron_domain_tool_nudge"]
    _, graph = agent(turns[1:])
    assert named(graph.invoke({"messages": "order 1"})["messages"]) == []


@pytest.mark.spec("NEMO-047")
def test_nudges_of_one_moment_are_one_update():
    earlier = [HumanMessage("a"), *step(1, "ls", "x"), *step(2), AIMessage("b")]
    state = {"messages": [*earlier, HumanMessage("A new task. Go ahead.", id="u")]}
    update = NemotronPolicyNudgeMiddleware().before_model(state, None)
    assert named(update["messages"]) == ["nemotron_transition_nudge", "nemotron_action_commit_nudge"]
    both = turn(step(1, "lookup_order", "x"), step(2, "glob", "No files found"), text="Find x and cancel it")
    update = NemotronPolicyNudgeMiddleware().before_model({"messages": both.messages}, None)
    assert named(update["messages"]) == ["nemotron_tool_chain_nudge", "nemotron_domain_tool_nudge"]
    again = {"messages": both.messages, **{key: update[key] for key in update if key != "messages"}}
    assert NemotronPolicyNudgeMiddleware().before_model(again, None) is None
