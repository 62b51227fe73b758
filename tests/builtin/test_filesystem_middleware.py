"""What a ``FilesystemMiddleware`` is made of, and how the plugin builds it."""

import asyncio
from types import SimpleNamespace

import pydantic
import pytest
from langchain.agents import create_agent
from langchain.agents.middleware.types import AgentMiddleware, omit_payload
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool

from deepagents_builtin.backends.state.backend import StateBackend
from deepagents_builtin.middleware.filesystem import constants, hookspecs, plugin, schemas
from deepagents_builtin.middleware.filesystem.descriptions import DEFAULT_DESCRIPTIONS
from deepagents_builtin.middleware.filesystem.errors import FilesystemArgumentError
from deepagents_builtin.middleware.filesystem.middleware import FilesystemMiddleware
from deepagents_kernel.assembly.request import make_request
from deepagents_kernel.contracts.backend import BackendProtocol
from deepagents_kernel.contracts.results import GrepResult, LsResult
from deepagents_kernel.errors import PlanError, SettingsError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.testing.scripted import ScriptedChatModel

SIX = ["ls", "read_file", "write_file", "edit_file", "glob", "grep"]


class Elsewhere(BackendProtocol):
    """Keeps nothing in the state."""

    def ls(self, path):
        return LsResult(entries=[{"path": "/elsewhere"}])


def names(middleware):
    return [tool.name for tool in middleware.tools]


def description(middleware, name):
    return next(tool.description for tool in middleware.tools if tool.name == name)


def run(middleware, turns, *, files=None, system_prompt=None, asynchronous=False):
    """The model and the final state of one run."""
    model = ScriptedChatModel([*turns, "done"])
    agent = create_agent(model, middleware=[middleware], system_prompt=system_prompt)
    given = {"messages": [("user", "go")]}
    if files is not None:
        given["files"] = {path: {"content": content, "encoding": "utf-8"} for path, content in files.items()}
    state = asyncio.run(agent.ainvoke(given)) if asynchronous else agent.invoke(given)
    return model, state


def answers(state):
    return [message for message in state["messages"] if message.type == "tool"]


# --- construction ---------------------------------------------------------------------------------


@pytest.mark.spec("FS-001")
def test_files_are_in_the_state_by_default():
    one, two = FilesystemMiddleware(), FilesystemMiddleware()
    assert isinstance(one.backend, StateBackend)
    assert one.backend is not two.backend
    _, state = run(one, [("write_file", {"file_path": "/a", "content": "x"})])
    assert state["files"]["/a"]["content"] == "x"


@pytest.mark.spec("FS-002")
@pytest.mark.parametrize("selection", [[], ["ls"], ["grep", "glob"], ("ls",), frozenset({"ls"})])
def test_read_file_is_mandatory(selection):
    with pytest.raises(ValueError, match="'read_file' is mandatory"):
        FilesystemMiddleware(tools=selection)


@pytest.mark.spec("FS-003", "DWN-007")
@pytest.mark.parametrize("selection", [None, "all"])
def test_every_tool_is_bound_in_a_fixed_order_with_exact_arguments(selection):
    middleware = FilesystemMiddleware(tools=selection)
    assert names(middleware) == SIX
    arguments = {
        tool.name: list(tool.tool_call_schema.model_json_schema()["properties"]) for tool in middleware.tools
    }
    assert arguments == {
        "ls": ["path"],
        "read_file": ["file_path", "offset", "limit"],
        "write_file": ["file_path", "content"],
        "edit_file": ["file_path", "old_string", "new_string", "replace_all"],
        "glob": ["pattern", "path"],
        "grep": ["pattern", "path", "glob", "output_mode", "max_count"],
    }
    defaults = {
        name: {key: field.default for key, field in schema.model_fields.items() if not field.is_required()}
        for name, schema in {tool.name: tool.args_schema for tool in middleware.tools}.items()
    }
    assert defaults == {
        "ls": {},
        "read_file": {"offset": 0, "limit": 100},
        "write_file": {},
        "edit_file": {"replace_all": False},
        "glob": {"path": None},
        "grep": {"path": None, "glob": None, "output_mode": "files_with_matches", "max_count": None},
    }


@pytest.mark.spec("FS-004")
def test_an_unknown_tool_is_refused_with_the_nearest_name():
    with pytest.raises(ValueError, match="no tool named 'red_file'") as caught:
        FilesystemMiddleware(tools=["read_file", "red_file"])
    assert "nearest: read_file" in str(caught.value)
    assert caught.value.argument == "tools"


@pytest.mark.spec("FS-004")
def test_a_tool_that_is_not_here_yet_is_refused():
    with pytest.raises(FilesystemArgumentError, match="'execute' is not available"):
        FilesystemMiddleware(tools=["read_file", "execute"])


@pytest.mark.spec("FS-005")
def test_a_selection_never_opens_more_than_was_asked_for():
    assert names(FilesystemMiddleware(tools=("grep", "read_file"))) == ["read_file", "grep"]
    assert names(FilesystemMiddleware(tools=(name for name in ("read_file",)))) == ["read_file"]
    for wrong in ("ls", "read_file", "ALL", ""):
        with pytest.raises(ValueError, match="single string"):
            FilesystemMiddleware(tools=wrong)
    for wrong in (3, [3, "read_file"]):
        with pytest.raises(TypeError):
            FilesystemMiddleware(tools=wrong)


@pytest.mark.spec("FS-007", "FS-015")
@pytest.mark.parametrize(
    "wrong",
    [
        {"grep_max_count": 0},
        {"grep_max_count": -1},
        {"tool_token_limit_before_evict": -1},
        {"read_limit": 0},
        {"glob_timeout": 0},
        {"result_char_limit": 0},
    ],
)
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}=..."):
        FilesystemMiddleware(**wrong)


@pytest.mark.spec("FS-015")
@pytest.mark.parametrize("off", [None, 0])
def test_no_token_limit_means_no_limit(off):
    text = "x" * 100_000
    call = ("read_file", {"file_path": "/a"})
    _, state = run(FilesystemMiddleware(tool_token_limit_before_evict=off), [call], files={"/a": text})
    assert text in answers(state)[0].content


@pytest.mark.spec("FS-008")
@pytest.mark.parametrize("wrong", [StateBackend, lambda runtime: StateBackend(), "state", 7])
def test_only_instances_are_backends(wrong):
    with pytest.raises(TypeError, match="backend must be an instance"):
        FilesystemMiddleware(backend=wrong)


@pytest.mark.spec("FS-011")
def test_the_state_has_files_only_for_a_backend_that_keeps_them_there():
    _, kept = run(FilesystemMiddleware(), [], files={"/a": "x"})
    assert set(kept["files"]) == {"/a"}
    _, dropped = run(FilesystemMiddleware(backend=Elsewhere()), [], files={"/a": "x"})
    assert "files" not in dropped


@pytest.mark.spec("FS-012", "BY-016")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_tool_that_is_left_out_cannot_be_called(asynchronous):
    middleware = FilesystemMiddleware(tools=["read_file", "ls"])
    call = ("write_file", {"file_path": "/a", "content": "x"})
    model, state = run(middleware, [call], files={}, asynchronous=asynchronous)
    (answer,) = answers(state)
    assert answer.status == "error"
    assert "not a valid tool" in answer.content
    assert "[ls, read_file]" in answer.content
    assert "/a" not in state.get("files", {})
    assert model.requests[0].tool_names == ("ls", "read_file")


@pytest.mark.spec("FS-013")
def test_a_subclass_has_its_own_name():
    class Mine(FilesystemMiddleware):
        pass

    assert FilesystemMiddleware().name == "FilesystemMiddleware"
    assert Mine().name == "Mine"
    with pytest.raises(AssertionError):
        create_agent(ScriptedChatModel(["x"]), middleware=[FilesystemMiddleware(), FilesystemMiddleware()])
    other = Mine(tools=["read_file"])
    other.tools = []
    create_agent(ScriptedChatModel(["x"]), middleware=[FilesystemMiddleware(), other])


def test_a_subclass_can_change_how_a_tool_is_made():
    class Loud(FilesystemMiddleware):
        def build_tool(self, name):
            made = super().build_tool(name)
            made.description = f"{name} on {type(self.backend).__name__}"
            return made

    assert description(Loud(), "ls") == "ls on StateBackend"


def test_hook_inputs_are_left_out_of_traces():
    assert FilesystemMiddleware.trace_policy.process_inputs is omit_payload


def test_further_tools_come_after_ours():
    @tool
    def tree(path: str) -> str:
        """Draw a tree."""
        return f"tree of {path}"

    middleware = FilesystemMiddleware(extra_tools=[tree])
    assert names(middleware) == [*SIX, "tree"]
    _, state = run(middleware, [("tree", {"path": "/"})])
    assert answers(state)[0].content == "tree of /"


# --- cost -----------------------------------------------------------------------------------------


def test_a_second_middleware_builds_no_schema(monkeypatch):
    FilesystemMiddleware()
    built = []
    metaclass = type(pydantic.BaseModel)
    original = metaclass.__new__

    def counting(cls, name, *args, **kwargs):
        built.append(name)
        return original(cls, name, *args, **kwargs)

    monkeypatch.setattr(metaclass, "__new__", counting)
    one, two = FilesystemMiddleware(), FilesystemMiddleware(tools=["read_file"], read_limit=100)
    assert built == []
    assert one.tools[1].args_schema is two.tools[0].args_schema is schemas.ReadFileSchema


def test_the_window_of_read_file_can_be_changed_with_one_schema_for_each_size():
    one, two = (FilesystemMiddleware(read_limit=7) for _ in range(2))
    assert one.tools[1].args_schema is two.tools[1].args_schema
    assert "get 7 lines" in description(one, "read_file")
    lines = "".join(f"l{number}\n" for number in range(20))
    _, state = run(one, [("read_file", {"file_path": "/a"})], files={"/a": lines})
    assert answers(state)[0].content.startswith("@@ lines 1-7 of 20 | next offset 7 @@\n")


def test_no_schema_has_the_runtime():
    for made in FilesystemMiddleware().tools:
        assert "runtime" not in made.args_schema.model_fields
        assert "runtime" not in made.tool_call_schema.model_json_schema()["properties"]


# --- prompt and descriptions ----------------------------------------------------------------------

HOOKS = (
    "wrap_model_call",
    "awrap_model_call",
    "wrap_tool_call",
    "awrap_tool_call",
    "before_model",
    "before_agent",
)


def test_nothing_wraps_the_loop_when_there_is_nothing_to_do():
    middleware = FilesystemMiddleware()
    assert type(middleware) is FilesystemMiddleware
    for hook in HOOKS:
        assert getattr(FilesystemMiddleware, hook) is getattr(AgentMiddleware, hook)


@pytest.mark.spec("VIS-020")
@pytest.mark.parametrize("asynchronous", [False, True])
def test_a_prompt_is_appended_as_a_block_of_its_own(asynchronous):
    base = SystemMessage([{"type": "text", "text": "Base.", "cache_control": {"type": "ephemeral"}}])
    middleware = FilesystemMiddleware(system_prompt="Mind the files.")
    model, _ = run(middleware, ["hello"], system_prompt=base, asynchronous=asynchronous)
    assert model.requests[0].messages[0].content == [
        {"type": "text", "text": "Base.", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "\n\nMind the files."},
    ]


@pytest.mark.spec("VIS-020")
@pytest.mark.parametrize("nothing", [None, ""])
def test_without_a_prompt_nothing_is_added(nothing):
    model, _ = run(FilesystemMiddleware(system_prompt=nothing), ["hello"])
    assert [message.type for message in model.requests[0].messages] == ["human"]


def test_a_prompt_keeps_name_and_type():
    class Mine(FilesystemMiddleware):
        pass

    middleware = Mine(system_prompt="one")
    assert middleware.name == "Mine"
    assert isinstance(middleware, Mine)
    assert type(middleware) is type(Mine(system_prompt="two"))
    assert FilesystemMiddleware(system_prompt="x").name == "FilesystemMiddleware"


def test_a_subclass_with_a_hook_of_its_own_reaches_ours():
    seen = []

    class Mine(FilesystemMiddleware):
        def wrap_model_call(self, request, handler):
            seen.append("mine")
            return super().wrap_model_call(request, handler)

    model, _ = run(Mine(system_prompt="ours"), ["hello"])
    assert seen == ["mine"]
    assert model.requests[0].system == "ours"


@pytest.mark.spec("VIS-011")
def test_descriptions_of_the_caller():
    custom = {"ls": "LIST", "grep": "", "no_such_tool": "x"}
    middleware = FilesystemMiddleware(custom_tool_descriptions=custom)
    assert description(middleware, "ls") == "LIST"
    assert description(middleware, "grep") == DEFAULT_DESCRIPTIONS["grep"]
    assert names(middleware) == SIX


CONVEYS = {
    "ls": ["one folder", "before you read or change"],
    "write_file": ["create", "replace", "prefer editing"],
    "edit_file": ["exact", "indentation", "never with the header", "replace_all"],
    "read_file": [
        "100 lines",
        "offset",
        "header",
        "never use it in an edit",
        "parallel",
        "reminder that it is empty",
    ],
    "glob": [
        "absolute paths",
        "`*`",
        "`?`",
        "`[abc]`",
        "`{a,b}`",
        "`**`",
        "any depth",
        "leading slash",
        "dot",
    ],
    "grep": ["literal", "once for each", "files_with_matches", "content", "count"],
}


@pytest.mark.spec("VIS-013", "FS-050")
@pytest.mark.parametrize("name", SIX)
def test_what_descriptions_convey(name):
    text = " ".join(description(FilesystemMiddleware(), name).split())
    for part in CONVEYS[name]:
        assert part.casefold() in text.casefold()
    # Nothing checks that a file was read before, so nothing says so.
    assert "fail" not in text
    assert "must read" not in text


@pytest.mark.spec("BY-015")
def test_no_description_or_note_names_another_tool():
    notes = [
        value
        for key, value in vars(constants).items()
        if key.endswith(("_NOTE", "_MSG", "_WARNING", "_NOTICE"))
    ]
    assert len(notes) > 8
    for name in [*SIX, "execute", "delete"]:
        for text in [*notes, *(text for key, text in DEFAULT_DESCRIPTIONS.items() if key != name)]:
            # `glob` is also the name of an argument of grep.
            assert f"`{name}`" not in text.replace("`glob` to files", "")
            assert "_" not in name or name not in text


# --- the plugin -----------------------------------------------------------------------------------


class Plugin:
    """A plugin in code."""

    PLUGIN = PluginInfo(name="bundle.test")


def plan_of(*plugins, settings=None, **arguments):
    kernel = Kernel(plugins, settings=settings and {"middleware.filesystem": settings})
    return kernel.plan(make_request(model=ScriptedChatModel(["done"]), **arguments))


def build(*plugins, **given):
    """The file tools of the main stack, as the kernel plans them."""
    (made,) = (entry.instance for entry in plan_of(*plugins, **given).main.entries if entry.name == NAME)
    assert type(made) is FilesystemMiddleware
    return made


NAME = "FilesystemMiddleware"


def test_the_plugin_builds_on_the_backend_of_the_agent():
    backend = Elsewhere()
    assert build(backend=backend).backend is backend
    assert plugin.PLUGIN.scaffolding
    assert plan_of().main.entries[0].spec.scaffolding


def test_the_file_tools_come_first_in_every_stack():
    helper = {"name": "helper", "description": "helps", "system_prompt": "Help."}
    plan = plan_of(subagents=[helper], settings={"read_limit": 7})
    stacks = list(plan.stacks())
    assert len(stacks) >= 2
    for stack in stacks:
        assert stack.entries[0].name == NAME
        # Settings hold in all of them.
        assert stack.entries[0].instance.workspace.read_limit == 7


@pytest.mark.spec("ASM-045")
def test_the_middleware_of_a_caller_is_installed_as_it_is():
    class Mine(FilesystemMiddleware):
        name = NAME

    for mine in (FilesystemMiddleware(tools=["read_file"]), Mine(), FilesystemMiddleware(system_prompt="x")):
        entries = plan_of(middleware=[mine]).main.entries
        assert [entry.instance for entry in entries if entry.name == NAME] == [mine]
        assert entries[0].instance is mine


@pytest.mark.spec("VIS-012", "TOOL-006")
def test_the_profile_overrides_descriptions():
    made = build(profile=HarnessProfile(tool_description_overrides={"ls": "FROM PROFILE", "grep": ""}))
    assert description(made, "ls") == "FROM PROFILE"
    assert description(made, "grep") == DEFAULT_DESCRIPTIONS["grep"]


class Describer(Plugin):
    @hookimpl
    def deepagents_describe_tool(self, name, description, context):
        return f"{description} ({context.path})" if name in {"ls", "grep"} else None


def test_a_plugin_describes_a_tool_and_the_profile_has_the_last_word():
    made = build(
        Describer(), profile=HarnessProfile(tool_description_overrides={"ls": "PROFILE", "grep": ""})
    )
    assert description(made, "ls") == "PROFILE"
    assert description(made, "grep") == f"{DEFAULT_DESCRIPTIONS['grep']} (main)"
    assert description(made, "glob") == DEFAULT_DESCRIPTIONS["glob"]


class Offers(Plugin):
    def __init__(self, *tools):
        self.tools = list(tools)

    @hookimpl
    def deepagents_filesystem_tools(self, context):
        return self.tools if context.path == "main" else None


def named(name):
    @tool(name)
    def made() -> str:
        """A tool."""
        return name

    return made


def test_a_plugin_adds_file_tools():
    assert names(build(Offers(named("tree"), named("move")))) == [*SIX, "tree", "move"]


@pytest.mark.parametrize("taken", ["ls", "execute", "tree"])
def test_a_plugin_cannot_take_a_name_that_is_taken(taken):
    with pytest.raises(PlanError, match=f"'{taken}' is already there") as caught:
        build(Offers(named("tree"), named(taken), "no tool"))
    assert "gave str, not a tool" in str(caught.value)
    assert caught.value.problems[0].plugin == "bundle.test"


def test_a_description_that_is_no_text_is_refused():
    class Wrong(Plugin):
        @hookimpl
        def deepagents_describe_tool(self, name):
            return 7

    with pytest.raises(PlanError, match="gave int for 'ls'"):
        build(Wrong())


def test_the_hooks_are_declared():
    assert hookspecs.deepagents_describe_tool.deepagents_spec["firstresult"]
    assert not hookspecs.deepagents_filesystem_tools.deepagents_spec["firstresult"]


def test_settings_reach_the_tools():
    seen = SimpleNamespace(max_count=None)

    class Counts(BackendProtocol):
        def grep(self, pattern, path=None, glob=None, *, max_count=None):
            seen.max_count = max_count
            return GrepResult(matches=[])

    settings = {
        "grep_max_count": 5,
        "read_limit": 3,
        "glob_timeout": 2.5,
        "result_char_limit": 60,
        "tool_token_limit_before_evict": None,
    }
    made = build(settings=settings, backend=Counts())
    run(made, [("grep", {"pattern": "x", "output_mode": "content"})])
    assert seen.max_count == 5
    assert made.workspace.glob_deadline == 2.5
    assert made.workspace.list_char_limit == 60
    assert made.workspace.read_char_limit is None
    assert made.tools[1].args_schema.model_fields["limit"].default == 3


@pytest.mark.parametrize(
    "wrong",
    [
        {"grep_max_count": 0},
        {"grep_max_count": "five"},
        {"read_limit": 0},
        {"glob_timeout": 0},
        {"result_char_limit": -1},
        {"tool_token_limit_before_evict": -1},
    ],
)
def test_settings_are_checked(wrong):
    (key,) = wrong
    with pytest.raises(SettingsError, match=f"middleware.filesystem.{key}"):
        build(settings=wrong)


def test_the_default_settings_are_the_defaults_of_the_constructor():
    plain, built = FilesystemMiddleware(), build()
    for key in ("read_char_limit", "list_char_limit", "read_limit", "grep_max_count", "glob_timeout"):
        assert getattr(plain.workspace, key) == getattr(built.workspace, key)
