"""What ``run`` shows and returns, for agents built by hand: no plugin takes part."""

from __future__ import annotations

import io
import json
import threading

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from deepagents_kernel.cli.background import in_background
from deepagents_kernel.cli.call import CommandError
from deepagents_kernel.cli.events import EventReader
from deepagents_kernel.cli.output import Output, safe
from deepagents_kernel.cli.report import CODES, JsonReport, TextReport
from deepagents_kernel.cli.run import Run
from deepagents_kernel.cli.workspace import check_workspace, compare, take_snapshot
from deepagents_kernel.testing.scripted import ScriptedChatModel


@pytest.fixture
def build(tmp_path):
    @tool
    def write(path: str, text: str) -> str:
        """Write a file."""
        (tmp_path / path).write_text(text, encoding="utf-8")
        return f"wrote {path}"

    @tool
    def look() -> str:
        """Fail softly."""
        return "nothing"

    @tool
    def delegate(goal: str) -> str:
        """Let a child do it."""
        model = ScriptedChatModel([("write", {"path": "child.txt", "text": "c"}), "child\nanswer"])
        child = create_agent(model, [write], name="researcher")
        return child.invoke({"messages": [("user", goal)]})["messages"][-1].text

    def make(turns, **kwargs):
        return create_agent(ScriptedChatModel(turns), [write, look, delegate], **kwargs)

    return make


def shown(agent, folder, capsys, report=TextReport, limit=None):
    view = report(Output())
    result = Run(agent, folder, view).work("go", limit)
    view.result(result)
    return result, capsys.readouterr()


def events(text):
    return [json.loads(line) for line in text.splitlines()]


def test_text_shows_calls_answer_and_files(build, tmp_path, capsys):
    (tmp_path / "old.txt").write_text("1", encoding="utf-8")
    turns = [
        [("write", {"path": "new.txt", "text": "x" * 500}), ("write", {"path": "old.txt", "text": "12"})],
        "All done.",
    ]
    result, out = shown(build(turns), tmp_path, capsys)
    assert result.status == "ok"
    assert CODES[result.status] == 0
    assert '> write(path="new.txt", text="xxx' in out.out
    assert max(map(len, out.out.splitlines())) < 160
    assert "\nAll done.\n" in out.out
    assert "2 model calls, " in out.out
    assert " tokens in, " in out.out
    assert out.out.endswith("created: new.txt\nchanged: old.txt\n")
    assert out.err == ""


def test_sub_agents_are_indented_and_attributed(build, tmp_path, capsys):
    _, out = shown(build([("delegate", {"goal": "g"}), "end"]), tmp_path, capsys)
    assert '  [researcher] > write(path="child.txt", text="c")' in out.out
    assert "  [researcher] < child answer" in out.out


def test_json_is_one_event_a_line_and_ends_with_the_result(build, tmp_path, capsys):
    agent = build([("delegate", {"goal": "g"}), "the end"])
    _, out = shown(agent, tmp_path, capsys, JsonReport)
    found = events(out.out)
    assert {event["event"] for event in found} == {"text", "tool_call", "tool_result", "answer", "result"}
    main = "".join(event["text"] for event in found if event["event"] == "text" and event["agent"] == "main")
    assert main == "the end"
    call = next(event for event in found if event["event"] == "tool_call" and event["depth"] == 1)
    assert (call["agent"], call["name"], call["args"]["path"]) == ("researcher", "write", "child.txt")
    last = found[-1]
    assert (last["event"], last["status"], last["exit_code"]) == ("result", "ok", 0)
    assert last["answer"] == "the end"
    assert last["files"] == {"created": ["child.txt"], "changed": [], "deleted": [], "complete": True}
    assert last["steps"] == 4
    assert last["tokens"]["total_tokens"] == last["tokens"]["input_tokens"] + last["tokens"]["output_tokens"]


def test_a_failure_keeps_what_was_done(build, tmp_path, capsys):
    turns = [("write", {"path": "a.txt", "text": "1"}), RuntimeError("the provider is down")]
    result, out = shown(build(turns), tmp_path, capsys)
    assert (result.status, CODES[result.status]) == ("failed", 1)
    assert out.err == "deepagents-kernel: the run failed: RuntimeError: the provider is down\n"
    assert "created: a.txt" in out.out
    assert "Traceback" not in out.out + out.err


def test_the_step_limit_ends_with_what_was_done(build, tmp_path, capsys):
    turns = [
        AIMessage("Working.", tool_calls=[{"name": "write", "args": {"path": "a", "text": ""}, "id": str(n)}])
        for n in range(9)
    ]
    result, out = shown(build(turns), tmp_path, capsys, limit=4)
    assert (result.status, CODES[result.status]) == ("limit", 1)
    assert result.answer == "Working."
    assert "--recursion-limit" in out.err
    assert "stopped at the step limit" in out.out


def test_an_approval_stops_the_run(build, tmp_path, capsys):
    agent = build(
        [("write", {"path": "a", "text": ""})], middleware=[HumanInTheLoopMiddleware({"write": True})]
    )
    result, out = shown(agent, tmp_path, capsys)
    assert (result.status, CODES[result.status]) == ("approval", 3)
    assert result.waiting[0]["name"] == "write"
    assert "? waits for approval: write" in out.out
    assert "approval" in out.err
    assert not (tmp_path / "a").exists()


def test_ctrl_c_reports_the_answer_so_far(build, tmp_path, capsys):
    class Impatient(TextReport):
        def event(self, event):
            super().event(event)
            if event.kind == "text" and "half" in event.data["text"]:
                raise KeyboardInterrupt

    result, out = shown(
        build([("write", {"path": "a", "text": ""}), "half of it all"]), tmp_path, capsys, Impatient
    )
    assert (result.status, CODES[result.status]) == ("interrupted", 130)
    assert result.answer
    assert "half of it all".startswith(result.answer)
    assert result.answer != "half of it all"
    assert "interrupted after" in out.out
    assert "created: a" in out.out


def test_text_of_a_model_can_not_steer_the_terminal(build, tmp_path, capsys):
    _, out = shown(build(["a\x1b[2Jb\r\x07c\td\ne"]), tmp_path, capsys)
    assert "\x1b" not in out.out
    assert "\r" not in out.out
    assert "c\td\ne" in out.out
    assert safe("plain äöü\n") == "plain äöü\n"


@pytest.mark.parametrize(
    "text",
    [
        "a\xa0b",
        "一\u3000二",
        "12\u202f000",
        "می\u200cخواهم",
        "👩\u200d👧",
        "hy\xadphen",
        "a\u200eb",
        "a\tb\n",
    ],
)
def test_ordinary_text_is_shown_as_it_is(text):
    assert safe(text) == text
    assert safe(text.replace("\n", "\r\n")) == text


@pytest.mark.parametrize("char", "\x00\x07\x1b\x7f\x85\x9b\r\ud800\ue000\U000e0fff\u202e\u202a\u2066\u2069")
def test_what_steers_a_terminal_is_replaced(char):
    assert safe(f"a{char}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_a_line_end_in_two_parts_is_one(capsys):
    output = Output()
    for part in ("one\r", "\ntwo\r", "three\r\n", "four\r"):
        output.part(part)
    output.part("\n")
    assert capsys.readouterr().out == "one\ntwo\N{REPLACEMENT CHARACTER}three\nfour\n"


class Client:
    """An error of an HTTP client, with the request that it is about."""

    def __init__(self, url):
        self.request = self
        self.url = url


class APIConnectionError(Client, Exception):
    pass


class AuthenticationError(Client, Exception):
    pass


def failing(kind, url, cause):
    error = kind(url)
    error.__cause__ = cause
    return error


@pytest.mark.parametrize(
    ("base_url", "shown_url", "check"),
    [
        (None, "http://models.example/v1/chat", "the network; see also --base-url"),
        (
            "http://models.example/v1",
            "http://models.example/v1",
            "--base-url, and that a server listens there",
        ),
        ("http://other", "http://models.example/v1/chat", "--base-url, and that a server listens there"),
    ],
)
def test_a_server_that_is_down_is_named_with_what_to_check(
    build, tmp_path, capsys, base_url, shown_url, check
):
    url = "http://user:secret@models.example/v1/chat?key=secret"
    if base_url == "http://models.example/v1":
        url = f"{base_url}/chat"
    refused = ConnectionRefusedError(111, "Connection refused")
    error = failing(APIConnectionError, url, refused)
    result = Run(build([error]), tmp_path, TextReport(Output()), base_url).work("go", None)
    assert (result.status, CODES[result.status]) == ("failed", 1)
    assert result.error == f"the run failed: no connection to {shown_url} (Connection refused); check {check}"


@pytest.mark.parametrize(
    "error",
    [failing(AuthenticationError, "http://x/v1", None), ConnectionError("a tool's own"), ValueError("no")],
)
def test_other_failures_are_not_taken_for_a_server_that_is_down(build, tmp_path, error):
    result = Run(build([error]), tmp_path, TextReport(Output())).work("go", None)
    assert result.error == f"the run failed: {type(error).__name__}: {error}"


def test_markup_in_an_answer_is_text(build, tmp_path, capsys):
    _, out = shown(build(["[red]not markup[/red] :smile: [/nothing]"]), tmp_path, capsys)
    assert "[red]not markup[/red] :smile: [/nothing]" in out.out


def test_a_failed_tool_result_is_shown(capsys):
    from langchain_core.messages import ToolMessage

    report = TextReport(Output())
    message = ToolMessage("no\nsuch file", tool_call_id="1", name="look", status="error", id="m")
    for event in EventReader().read(((), "updates", {"tools": {"messages": [message]}})):
        report.event(event)
    assert capsys.readouterr().out == "  look failed: no such file\n"


def test_side_calls_of_middleware_are_not_the_answer():
    reader = EventReader()
    aside = (
        (),
        "messages",
        (AIMessage("summary"), {"langgraph_node": "model", "lc_source": "summarization"}),
    )
    other = ((), "messages", (AIMessage("grade"), {"langgraph_node": "Rubric.after_agent"}))
    assert [*reader.read(aside), *reader.read(other)] == []
    assert reader.answer == ""


def test_two_sub_agents_of_one_name_are_told_apart():
    reader = EventReader()
    found = []
    for place in ("tools:1", "tools:2", "tools:1"):
        metadata = {"langgraph_node": "model", "lc_agent_name": "researcher"}
        found += reader.read(((place,), "messages", (AIMessage("x"), metadata)))
    assert [event.agent for event in found] == ["researcher", "researcher #2", "researcher"]


def test_a_replayed_message_counts_once():
    reader = EventReader()
    message = AIMessage(
        "x", id="1", usage_metadata={"input_tokens": 2, "output_tokens": 3, "total_tokens": 5}
    )
    for _ in range(2):
        list(reader.read(((), "updates", {"model": {"messages": [message]}})))
    assert (reader.steps, reader.tokens["total_tokens"]) == (1, 5)


def test_updates_of_any_shape_are_read():
    reader = EventReader()
    for update in (None, [], {"messages": None}, {"messages": object()}, {"files": {}}):
        assert list(reader.read(((), "updates", {"node": update}))) == []


# The producer of a run


def test_in_background_hands_on_items_and_errors():
    def produce():
        yield 1
        raise LookupError("end")

    items = in_background(produce)
    assert next(items) == 1
    with pytest.raises(LookupError):
        next(items)


def test_closing_stops_the_producer():
    ended = threading.Event()

    def produce():
        try:
            yield from range(1000)
        finally:
            ended.set()

    items = in_background(produce)
    assert next(items) == 0
    items.close()
    assert ended.wait(5)


# The workspace


def test_snapshots_tell_created_changed_and_deleted(tmp_path):
    for name in ("same", "changed", "deleted"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / ".git").mkdir()
    before = take_snapshot(tmp_path)
    (tmp_path / "changed").write_text("longer than before", encoding="utf-8")
    (tmp_path / "deleted").unlink()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "new").write_text("", encoding="utf-8")
    (tmp_path / ".git" / "index").write_text("", encoding="utf-8")
    changes = compare(before, take_snapshot(tmp_path))
    assert (changes.created, changes.changed, changes.deleted) == (("sub/new",), ("changed",), ("deleted",))
    assert changes.complete


def test_a_huge_workspace_is_bounded_and_says_so(tmp_path, capsys):
    for number in range(5):
        (tmp_path / str(number)).write_text("", encoding="utf-8")
    before = take_snapshot(tmp_path, most=3)
    (tmp_path / "0").write_text("x", encoding="utf-8")
    (tmp_path / "-").write_text("x", encoding="utf-8")
    changes = compare(before, take_snapshot(tmp_path, most=3))
    assert (changes.created, changes.changed, changes.deleted, changes.complete) == ((), ("0",), (), False)


def test_a_link_loop_does_not_hang(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "gone").symlink_to(tmp_path / "nowhere")
    assert set(take_snapshot(tmp_path).files) == {"loop", "gone"}


@pytest.mark.parametrize("text", ["a\x00b", "x" * 5000])
def test_an_impossible_path_is_one_message(text):
    with pytest.raises(CommandError) as caught:
        check_workspace(text)
    assert len(str(caught.value)) < 6000


def test_output_goes_to_the_streams_of_the_call(monkeypatch):
    replaced = io.StringIO()
    monkeypatch.setattr("sys.stdout", replaced)
    Output().line("x")
    assert replaced.getvalue() == "x\n"
