"""The command: options, errors, exit codes."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click
import langchain.agents.middleware
import pytest
from click.testing import CliRunner

from deepagents_kernel import Kernel, MiddlewareSpec, Problem, Segment, hookimpl
from deepagents_kernel.cli.app import COMMANDS, app
from deepagents_kernel.cli.call import Call
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.plugins.group import COMMANDS as PLUGINS
from deepagents_kernel.cli.profiles.group import COMMANDS as PROFILES
from deepagents_kernel.plugins.catalog import PluginState
from deepagents_kernel.testing.scripted import ScriptedChatModel

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"


@pytest.fixture(autouse=True)
def own_folders(tmp_path_factory, monkeypatch):
    """Neither the configuration nor the cache of whoever runs the tests has a say in them."""
    home = tmp_path_factory.mktemp("home")
    home.chmod(0o755)
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(home))
    for name in [name for name in os.environ if name.startswith("DEEPAGENTS_")]:
        monkeypatch.delenv(name)


@pytest.fixture
def call():
    def invoke(*args):
        return CliRunner().invoke(app, list(map(str, args)))

    return invoke


def fails(result, code=2):
    assert result.exit_code == code, result.output
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith("deepagents-kernel: ")
    return result.stderr


def one_line(result, code=2):
    text = fails(result, code)
    assert text.count("\n") == 1, text
    return text


# Usage


def test_no_arguments_and_help_list_the_commands(call):
    for args in ((), ("--help",)):
        result = call(*args)
        assert result.exit_code == 0
        for name, (_, text) in COMMANDS.items():
            assert re.search(rf"^  {name} +{re.escape(text)}$", result.stdout, re.MULTILINE)


def test_version_among_other_words(call):
    assert call("--version", "run").stdout == "deepagents-kernel 0.1.0\n"


def test_a_misspelt_command_offers_the_nearest(call):
    assert "no command named 'rnu'; nearest: run" in one_line(call("rnu", "--help"))
    assert "there are: doctor, plan, plugins, profiles, run, settings" in one_line(call("zzzzzz"))


def test_a_misspelt_option_is_one_line(call):
    text = one_line(call("plan", "--tokns"))
    assert "--tokns" in text
    assert "--tokens" in text
    assert "deepagents-kernel plan --help" in text


def test_what_run_needs_is_said_with_an_example(call, tmp_path):
    assert "TASK" in one_line(call("run"))
    assert "--model offline" in one_line(call("run", "x", "--workspace", tmp_path))
    assert "--workspace ." in one_line(call("run", "x", "--model", "offline"))
    assert "empty" in one_line(call("run", " ", "--model", "offline", "--workspace", tmp_path))
    assert "--recursion-limit" in one_line(call("run", "x", "--recursion-limit", "0"))


def test_a_bad_workspace_is_one_line(call, tmp_path):
    (tmp_path / "notes").mkdir()
    (tmp_path / "file").write_text("", encoding="utf-8")
    run = ("run", "x", "--model", "offline", "--workspace")
    assert "nearest: notes" in one_line(call(*run, tmp_path / "nots"))
    assert "takes a folder" in one_line(call(*run, tmp_path / "file"))
    assert "no folder" in one_line(call(*run, tmp_path / "zzzz" / "deeper"))
    assert "takes a folder" in one_line(call("plan", "--workspace", tmp_path / "file"))


@pytest.mark.parametrize("command", ["run", "plan"])
def test_an_unknown_model_is_a_configuration_error(call, tmp_path, command):
    args = ("x", "--workspace", tmp_path) if command == "run" else ()
    text = fails(call(command, *args, "--model", "oflin"))
    assert "oflin" in text
    assert "offline" in text


def test_debug_shows_the_traceback(call):
    result = call("plan", "--debug", "--model", "oflin")
    assert result.exit_code == 2
    assert "Traceback" in result.stderr


# Runs


@pytest.fixture
def workspace(tmp_path):
    folder = tmp_path / "work"
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes\n\nThe harbour opens at nine.\n", encoding="utf-8")
    return folder


def test_run_works_in_the_workspace(call, workspace):
    result = call("run", "Summarise the notes", "--model", "offline", "--workspace", workspace)
    assert result.exit_code == 0, result.output
    assert "\n> " in f"\n{result.stdout}"
    assert "done after" in result.stdout


def test_run_as_json(call, workspace):
    result = call("run", "Summarise the notes", "--model", "offline", "--workspace", workspace, "--json")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert {"tool_call", "tool_result", "text", "result"} <= {row["event"] for row in rows}
    assert rows[-1]["status"] == "ok"
    assert rows[-1]["answer"]


def test_the_step_limit_is_exit_code_1(call, workspace):
    result = call("run", "Summarise", "--model", "offline", "--workspace", workspace, "--recursion-limit", 2)
    assert result.exit_code == 1
    assert "--recursion-limit" in result.stderr


class Server(BaseHTTPRequestHandler):
    """Streams one answer, as an OpenAI-compatible server does."""

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        self.server.paths.append(self.path)
        chunk = {
            "id": "1",
            "object": "chat.completion.chunk",
            "created": 0,
            "model": "m",
            "choices": [
                {
                    "index": 0,
                    "delta": {"role": "assistant", "content": "served here"},
                    "finish_reason": "stop",
                }
            ],
        }
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        self.wfile.write(f"data: {json.dumps(chunk)}\n\ndata: [DONE]\n\n".encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def server():
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as running:
        running.paths = []
        thread = threading.Thread(target=running.serve_forever)
        thread.start()
        yield running
        running.shutdown()
        thread.join()


def test_a_model_of_ones_own_server(call, workspace, server, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    url = f"http://127.0.0.1:{server.server_port}/v1"
    chat = ("-p", "no:provider.openai")  # the server speaks chat completions
    result = call("run", "x", "--model", "openai:gpt-5.4", "--base-url", url, "--workspace", workspace, *chat)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("served here\n")
    assert server.paths


@pytest.mark.parametrize(
    ("url", "reason"), [("http://127.0.0.1:{}/v1", "Connection refused"), ("notaurl", "http://")]
)
def test_a_server_that_can_not_be_reached_is_one_line(call, workspace, monkeypatch, url, reason):
    monkeypatch.setenv("OPENAI_API_KEY", "unused")
    with socket.create_server(("127.0.0.1", 0)) as free:
        url = url.format(free.getsockname()[1])
    result = call("run", "x", "--model", "openai:gpt-5.4", "--base-url", url, "--workspace", workspace)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"deepagents-kernel: the run failed: no connection to {url} (")
    assert reason in result.stderr
    assert "check --base-url" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("model", ["offline", "scripted:{}"])
def test_a_model_that_takes_no_address_refuses_one(call, workspace, model):
    turns = workspace / "turns.json"
    turns.write_text('["text"]'.replace('"text"', '{"text": "hi"}'), encoding="utf-8")
    model = model.format(turns)
    run = ("run", "x", "--model", model, "--workspace", workspace)
    assert "--base-url means nothing for it" in one_line(call(*run, "--base-url", "http://127.0.0.1:1"))
    assert call(*run).exit_code == 0
    assert "the model behind the colon" in fails(
        call(*run[:3], "openai:", *run[4:], "--base-url", "http://x")
    )


@pytest.mark.parametrize("name", ["a?b", "100%", "a%3Fb", "a#b c?max_file_size_mb=1"])
def test_a_workspace_may_have_any_name(call, tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    (folder / "notes.md").write_text("# Notes\n", encoding="utf-8")
    result = call("run", "Summarise", "--model", "offline", "--workspace", folder)
    assert result.exit_code == 0, result.output
    assert "notes.md" in (folder / "REPORT.md").read_text(encoding="utf-8")


def test_the_summary_names_the_report_that_was_written(call, workspace):
    (workspace / "REPORT.md").write_text("Mine.\n", encoding="utf-8")
    result = call("run", "Summarise", "--model", "offline", "--workspace", workspace)
    assert result.stdout.endswith("\ncreated: REPORT-2.md\n")
    assert "The report is in /REPORT-2.md." in result.stdout
    assert (workspace / "REPORT.md").read_text(encoding="utf-8") == "Mine.\n"


def test_a_missing_key_is_a_configuration_error(call, workspace, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    assert "OPENAI_API_KEY" in fails(call("run", "x", "--model", "openai:gpt-5.4", "--workspace", workspace))


RUN_MINE = ("run", "x", "--model", "mine", "--workspace")


def test_the_system_prompt_reaches_the_model(call, workspace, monkeypatch):
    model = ScriptedChatModel(["ok"])
    use_plugin(monkeypatch, Models(model))
    result = CliRunner().invoke(
        app, ["run", "x", "--model", "mine", "--workspace", str(workspace), "--system-prompt", "Be brief."]
    )
    assert result.exit_code == 0, result.output
    assert model.requests[0].system.startswith("Be brief.")


def test_plan_warnings_are_shown(call, workspace, monkeypatch):
    class Doubtful(Models):
        @hookimpl
        def deepagents_plan_validate(self, plan):
            return Problem("something is doubtful", severity="warning")

    use_plugin(monkeypatch, Doubtful(ScriptedChatModel(["ok"])))
    result = call(*RUN_MINE, workspace)
    assert result.exit_code == 0, result.output
    assert "deepagents-kernel: warning: " in result.stderr
    assert "something is doubtful" in result.stderr


def test_an_approval_is_exit_code_3(call, workspace, monkeypatch):
    class Careful(Models):
        @hookimpl
        def deepagents_middleware(self):
            def make(_context):
                return HumanInTheLoopMiddleware({"write_file": True})

            return MiddlewareSpec("Careful", HumanInTheLoopMiddleware, make, segment=Segment.USER)

    class HumanInTheLoopMiddleware(langchain.agents.middleware.HumanInTheLoopMiddleware):
        name = "Careful"

    model = ScriptedChatModel([("write_file", {"file_path": "/a", "content": ""})])
    use_plugin(monkeypatch, Careful(model))
    result = call(*RUN_MINE, workspace)
    assert result.exit_code == 3, result.output
    assert "approval" in result.stderr
    assert not (workspace / "a").exists()


class Models:
    def __init__(self, model):
        self.model = model

    @hookimpl
    def deepagents_resolve_model(self, spec):
        return self.model if spec == "mine" else None


def use_plugin(monkeypatch, plugin):
    kernel = Kernel(plugins={"model.mine": plugin})
    monkeypatch.setattr(Call, "kernel", lambda self, workspace=None: kernel)


# Workspaces that only root could use


@pytest.fixture
def shared():
    """A folder that other users can reach; ``tmp_path`` is not one."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize(("mode", "code", "text"), [(0o000, 2, "can't be read"), (0o555, 0, "read-only")])
def test_a_folder_without_rights(shared, mode, code, text, monkeypatch):
    for name in ("HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(shared))
    (shared / "work").mkdir()
    run = ["run", "x", "--model", "offline", "--workspace"]
    # What is imported late is imported here: the other user may not be able to read the installation.
    CliRunner().invoke(app, [*run, str(shared / "work")])
    (shared / "work").chmod(mode)
    outcome = as_ordinary_user([*run, str(shared / "work")])
    (shared / "work").chmod(0o755)
    assert outcome["uid"] != 0
    assert outcome["code"] == code, outcome
    assert text in outcome["stderr"]
    assert outcome["stderr"].count("\n") == 1


def as_ordinary_user(args):
    """What the command does in a child process under an ordinary uid: root may read and write anything."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            if os.getuid() == 0:
                os.setgid(65534)
                os.setuid(65534)
            result = CliRunner().invoke(app, args)
            outcome = {"uid": os.getuid(), "code": int(result.exit_code), "stderr": result.stderr}
            os.write(writer, json.dumps(outcome).encode())
        finally:
            os._exit(0)
    os.close(writer)
    with os.fdopen(reader, encoding="utf-8") as stream:
        outcome = json.load(stream)
    os.waitpid(child, 0)
    return outcome


# Commands of plugins


class Extra:
    def __init__(self, *commands):
        self.commands = commands

    @hookimpl
    def deepagents_cli_commands(self):
        return self.commands


def test_a_plugin_adds_a_command(call, monkeypatch):
    @click.command()
    def greet():
        """Say hello."""
        click.echo("hello")

    use_plugin(monkeypatch, Extra(greet))
    assert call("greet").stdout == "hello\n"
    assert re.search("^  greet +Say hello.$", call("--help").stdout, re.MULTILINE)
    assert "nearest: greet" in one_line(call("gret"))


def test_plugins_are_asked_only_when_it_matters(call, monkeypatch):
    asked = []

    class Counting:
        @hookimpl
        def deepagents_cli_commands(self):
            asked.append(1)

    use_plugin(monkeypatch, Counting())
    assert call("plan").exit_code == 0
    assert asked == []
    call("gret")
    assert asked == [1]


def test_a_plugin_can_not_take_a_command_of_the_kernel_or_break_the_help(call, monkeypatch):
    use_plugin(monkeypatch, Extra(click.Command("plan", help="Mine."), "no command"))
    result = call("--help")
    assert result.exit_code == 0
    assert "Mine." not in result.stdout
    assert result.stderr.count("warning: plugin model.mine: ") == 2

    class Broken:
        @hookimpl
        def deepagents_cli_commands(self):
            raise RuntimeError("broken")

    use_plugin(monkeypatch, Broken())
    result = call("--help")
    assert result.exit_code == 0
    assert "run " in result.stdout
    assert "model.mine" in result.stderr


def test_a_plugin_that_fails_loses_its_own_commands_only(call, monkeypatch):
    class Broken:
        @hookimpl(specname="deepagents_cli_commands")
        def commands(self):
            yield click.Command("half", help="Half.")
            raise RuntimeError("broken\nin two lines")

    kernel = Kernel(
        plugins={
            "model.a": Extra(click.Command("first", help="One.")),
            "model.b": Broken(),
            "model.c": Extra(click.Command("last", help="Three.")),
        }
    )
    monkeypatch.setattr(Call, "kernel", lambda self, workspace=None: kernel)
    result = call("--help")
    assert result.exit_code == 0
    assert "first" in result.stdout
    assert "last" in result.stdout
    assert "half" not in result.stdout
    assert result.stderr.count("\n") == 1
    assert "the commands of plugin model.b are missing" in result.stderr
    assert "RuntimeError: broken" in result.stderr
    assert call("last").exit_code == 0


# Plans


@pytest.mark.spec("BY-085")
def test_plan_lists_what_the_agent_has(call, workspace):
    result = call("plan", "--workspace", workspace)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith("main\n")
    assert "FilesystemMiddleware" in result.stdout
    assert "middleware.filesystem, deepagents-kernel " in result.stdout
    assert "read_file " in result.stdout
    assert "main/general-purpose" in result.stdout
    assert "approximate" in result.stdout
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_plan_without_counting(call):
    result = call("plan", "--no-tokens")
    assert result.exit_code == 0
    assert "token" not in result.stdout.split("prompt")[0]
    assert "approximate" not in result.stdout


def test_a_stored_plan_is_checked(call, tmp_path):
    stored = tmp_path / "plan.lock"
    stored.write_text(call("plan", "--json").stdout, encoding="utf-8")
    document = json.loads(stored.read_text(encoding="utf-8"))
    assert document["format"] == 1
    same = call("plan", "--check", stored)
    assert (same.exit_code, same.stdout) == (0, f"unchanged: {document['fingerprint']}\n")

    document["main"]["tools"].pop()
    stored.write_text(json.dumps(document), encoding="utf-8")
    differs = call("plan", "--check", stored)
    assert differs.exit_code == 1
    assert "main: + tool " in differs.stdout
    assert "changed: " in differs.stdout


def test_the_workspace_is_not_part_of_the_fingerprint(call, tmp_path):
    found = set()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        found.add(json.loads(call("plan", "--json", "--workspace", tmp_path / name).stdout)["fingerprint"])
    assert len(found) == 1


def test_two_stored_plans_are_compared(call, tmp_path):
    a, b = tmp_path / "a", tmp_path / "b"
    a.write_text(call("plan", "--json").stdout, encoding="utf-8")
    document = json.loads(a.read_text(encoding="utf-8"))
    document["main"]["prompt"] = "other"
    b.write_text(json.dumps(document), encoding="utf-8")
    assert call("plan", "--diff", a, a).exit_code == 0
    result = call("plan", "--diff", a, b)
    assert result.exit_code == 1
    assert "main: prompt changed" in result.stdout


def test_a_missing_plan_says_how_to_make_one(call, tmp_path):
    missing = tmp_path / "my plan"
    for args in (("--check", missing), ("--diff", missing, missing)):
        assert f"no plan '{missing}'; create one with: " in (text := one_line(call("plan", *args)))
        assert f"plan --json > '{missing}'" in text


def test_a_file_that_is_no_plan_is_never_advised_to_be_written_over(call, tmp_path):
    contents = {
        b"\xff{": "utf-8",
        b"print('mine')": "Expecting value",
        b"[" * 100_000: "recursion",
        b"[]": "names no format",
        b'{"format": 99}': "99",
        b'{"format": 1, "main": {}}': "damaged",
    }
    mine = tmp_path / "mine"
    for content, word in contents.items():
        mine.write_bytes(content)
        for args in (("--check", mine), ("--diff", mine, mine)):
            text = one_line(call("plan", *args))
            assert f"'{mine}': it is not a plan" in text
            assert "left as it is" in text
            assert word in text
            assert ">" not in text
        assert mine.read_bytes() == content
    assert "can't be read" in (text := one_line(call("plan", "--check", tmp_path)))
    assert ">" not in text


def test_what_plan_can_do_is_one_thing_at_a_time(call, tmp_path):
    assert "choose one" in one_line(call("plan", "--json", "--check", tmp_path))


# Documentation


HEADS = ("option", "state", "code", "event")


def documented(heading):
    text = DOCS.read_text(encoding="utf-8")
    section = re.search(rf"^## `?{heading}\b.*?$(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)[1]
    return [row for row in re.findall(r"^\| `?([\w-]*\w)`? \|", section, re.MULTILINE) if row not in HEADS]


GROUPS = {"plugins": PLUGINS, "profiles": PROFILES}
LEAVES = [
    *(name for name in COMMANDS if name not in GROUPS),
    *(f"{group} {name}" for group, table in GROUPS.items() for name in table),
]
COMMON = ["--config", "--debug", "--help", "-p"]


@pytest.mark.parametrize("name", [*LEAVES, *GROUPS, ""])
def test_documented_options_are_the_options(name):
    command = app
    for part in name.split():
        command = command.get_command(click.Context(command), part)
    options = [
        option
        for parameter in command.get_params(click.Context(command))
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
        if option != "--version"
    ]
    own = [row for row in documented(name) if row.startswith("-")] if name in LEAVES else []
    assert sorted([*own, *COMMON]) == sorted(options)


def test_documented_common_options_are_those_of_every_command():
    assert sorted(documented("Options of every command")) == COMMON


def test_documented_commands_are_the_commands():
    headings = re.findall(r"^## `([a-z ]+[a-z])", DOCS.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(headings) == sorted(LEAVES)


def test_documented_states_are_the_states():
    rows = [row for row in documented("plugins list") if not row.startswith("-")]
    assert rows == list(PluginState)


def test_documented_exit_codes_are_the_exit_codes():
    rows = [row for row in documented("Exit codes") if row.isdigit()]
    assert list(map(int, rows)) == list(ExitCode)


def test_documented_events_are_the_events(call, workspace):
    from deepagents_kernel.cli.report import _LINES

    assert {"text", "result", *_LINES} == set(
        re.findall(r"^\| `(\w+)` \| `", DOCS.read_text("utf-8"), re.MULTILINE)
    )
