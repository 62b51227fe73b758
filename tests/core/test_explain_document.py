"""A plan as JSON data, and its fingerprint."""

from __future__ import annotations

import json
from dataclasses import dataclass
from types import SimpleNamespace

import pytest
from attrs import evolve
from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain_core.messages import SystemMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from deepagents_kernel import Kernel, hookimpl
from deepagents_kernel._builtin import load_table
from deepagents_kernel._version import __version__
from deepagents_kernel.assembly.context import Contribution, StackContext
from deepagents_kernel.assembly.handle import GraphHandle
from deepagents_kernel.assembly.plan import AgentPlan, Dropped, Entry, StackPlan
from deepagents_kernel.assembly.request import make_request
from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment, StackKind
from deepagents_kernel.contracts.permissions import FilesystemPermission
from deepagents_kernel.errors import Problem
from deepagents_kernel.explain.document import digest, to_dict
from deepagents_kernel.explain.plain import plain
from deepagents_kernel.explain.tokens import approximate, counter_for
from deepagents_kernel.plugins.info import PluginInfo, PluginRecord
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.lookup import ProfileRef
from deepagents_kernel.testing.scripted import ScriptedChatModel


@tool
def look(path: str, depth: int = 1) -> str:
    """Look at a folder."""
    return path * depth


@tool
def ask(question: str) -> str:
    """Ask the user."""
    return question


class Files(AgentMiddleware):
    tools = [look]


class Audit(AgentMiddleware):
    pass


class Answer(BaseModel):
    text: str


def make_entry(cls, segment, plugin, **fields):
    spec = MiddlewareSpec(
        cls.__name__, cls, lambda _: cls(), segment=segment, summary="one line", after=fields.pop("after", ())
    )
    defaults = {"source": f"plugin {plugin}", "instance": cls()}
    return Entry(cls.__name__, cls.__name__, cls, segment, plugin=plugin, spec=spec, **{**defaults, **fields})


def make_context(path="main", kind=StackKind.MAIN, counter=None, **fields):
    answers = () if counter is None else (Contribution("middleware.counter", counter),)
    ref = ProfileRef(HarnessProfile(excluded_tools={"hidden"}), "scripted", ("scripted",))
    defaults = {
        "kind": kind,
        "name": path.rpartition("/")[2],
        "path": path,
        "request": make_request(),
        "model": ScriptedChatModel(["x"]),
        "profile": ref,
        "registry_profile": ref,
        "backend": SimpleNamespace(),
        "call": lambda *_args, **_kwargs: answers,
    }
    return StackContext(**{**defaults, **fields})


def make_stack(context, entries, **fields):
    defaults = {"prompt": "Be careful.", "state_schema": AgentState, "handle": GraphHandle(lambda _: None)}
    return StackPlan(context, tuple(entries), **{**defaults, **fields})


def make_plan(*, version="1.2", context=None, entries=None, **fields):
    core = make_entry(Files, Segment.CORE, "middleware.files")
    tail = make_entry(Audit, Segment.TAIL, "middleware.audit", after=("Files",), notes=("moved",))
    child = make_stack(make_context("main/researcher", StackKind.SUBAGENT), [core], prompt=None)
    main = make_stack(
        context or make_context(tools=(ask,)), entries or [core, tail], **{"children": (child,), **fields}
    )
    record = PluginRecord(
        "middleware.audit", object(), PluginInfo(), distribution="deepagents-audit", version=version
    )
    return AgentPlan(main, (Problem("doubtful", severity="warning"),), {"middleware.audit": record})


def test_the_layout_is_stable_json():
    document = make_plan().to_dict()
    assert json.loads(json.dumps(document)) == document
    assert set(document) == {"format", "fingerprint", "kernel", "warnings", "main"}
    assert document["format"] == 1
    assert document["warnings"][0]["text"] == "doubtful"
    main = document["main"]
    assert main["kind"] == "main"
    assert main["model"] == {
        "class": "deepagents_kernel.testing.scripted.ScriptedChatModel",
        "provider": "scripted",
        "identifier": "scripted",
        "spec": "",
    }
    assert main["profile"] == {"key": "scripted", "layers": ["scripted"]}
    assert main["backend"] == "types.SimpleNamespace"
    assert main["prompt"] == "Be careful."
    assert main["state_schema"] == "langchain.agents.middleware.types.AgentState"
    assert [child["path"] for child in main["children"]] == ["main/researcher"]
    assert main["children"][0]["prompt"] is None


def test_an_entry_says_where_it_comes_from():
    entry = make_plan().to_dict()["main"]["entries"][1]
    assert entry == {
        "segment": "tail",
        "name": "Audit",
        "slot": "Audit",
        "class": f"{__name__}.Audit",
        "plugin": "middleware.audit",
        "distribution": "deepagents-audit",
        "version": "1.2",
        "origin": "plugin",
        "source": "plugin middleware.audit",
        "replaced": "",
        "constraints": {"after": ["Files"], "before": []},
        "why": "asks to be after Files",
        "summary": "one line",
        "notes": ["moved"],
        "tools": [],
    }


@pytest.mark.spec("BY-085")
def test_everything_an_agent_has_is_listed():
    context = make_context(
        tools=(ask,),
        permissions=(FilesystemPermission(["write"], ["/secret/**"], "deny"),),
        interrupt_on={"ask": True},
        skills=("/skills/",),
        memory=("/AGENTS.md",),
        response_format=Answer,
    )
    main = make_plan(context=context).to_dict()["main"]
    assert [(row["name"], row["source"]) for row in main["tools"]] == [("look", "Files"), ("ask", "caller")]
    assert main["tools"][0]["description"] == "Look at a folder."
    assert set(main["tools"][0]["parameters"]["properties"]) == {"path", "depth"}
    assert [entry["name"] for entry in main["entries"]] == ["Files", "Audit"]
    assert main["entries"][0]["tools"] == ["look"]
    assert main["permissions"] == [{"operations": ["write"], "paths": ["/secret/**"], "mode": "deny"}]
    assert main["interrupt_on"] == {"ask": True}
    assert (main["skills"], main["memory"]) == (["/skills/"], ["/AGENTS.md"])
    assert main["response_format"] == f"{__name__}.Answer"
    assert [child["path"] for child in main["children"]] == ["main/researcher"]


def test_excluded_tools_are_not_among_the_tools():
    ref = ProfileRef(HarnessProfile(excluded_tools={"look"}))
    main = make_plan(context=make_context(profile=ref)).to_dict(tokens=True)["main"]
    assert main["excluded_tools"] == ["look"]
    assert main["tools"] == []
    assert main["entries"][0]["tools"] == []
    assert main["tokens"]["tools"] == 0


def test_the_server_of_a_provider_tool_is_not_written_down():
    secret = {"type": "mcp", "server_url": "https://host/", "headers": {"Authorization": "hunter2"}}
    document = make_plan(context=make_context(tools=(secret,))).to_dict(tokens=True)
    assert "hunter2" not in json.dumps(document)
    assert document["main"]["tools"][-1]["parameters"] == {"type": "mcp"}


def test_a_message_prompt_is_its_text():
    prompt = SystemMessage(
        [{"type": "text", "text": "one"}, {"type": "text", "text": "two", "cache_control": {}}]
    )
    assert make_plan(prompt=prompt).to_dict()["main"]["prompt"] == "one\n\ntwo"


# Token costs


def test_costs_are_counted_only_when_asked_for():
    counted = []
    plan = make_plan(context=make_context(counter=lambda messages, tools: counted.append(1) or 7))
    assert "tokens" not in plan.to_dict()["main"]
    assert counted == []
    main = plan.to_dict(tokens=True)["main"]
    assert main["tokens"] == {"counter": "middleware.counter", "exact": True, "prompt": 7, "tools": 7}
    assert main["tools"][0]["tokens"] == 7


def test_without_a_counter_costs_are_approximate_and_say_so():
    main = make_plan().to_dict(tokens=True)["main"]
    assert main["tokens"]["counter"] == "approximation"
    assert main["tokens"]["exact"] is False
    assert main["tokens"]["tools"] > main["tools"][0]["tokens"] > 10


def test_four_characters_are_about_a_token():
    assert 100 <= approximate([{"role": "user", "content": "x" * 400}], []) <= 110
    short, long = ({"type": "function", "function": {"name": "f", "description": "d" * n}} for n in (4, 404))
    assert approximate([], [long]) - approximate([], [short]) == 100
    assert approximate([], []) == 0
    assert approximate([], [look]) == counter_for(make_context()).count([], [look])


# The fingerprint


def test_the_fingerprint_is_in_the_document_and_is_its_digest():
    plan = make_plan()
    document = to_dict(plan, tokens=True)
    assert document["fingerprint"] == plan.fingerprint == digest(document)
    assert digest(json.loads(json.dumps(document))) == plan.fingerprint


def test_versions_and_words_leave_the_fingerprint_alone():
    core = make_entry(Files, Segment.CORE, "middleware.files")
    tail = make_entry(
        Audit, Segment.TAIL, "middleware.audit", source="/home/me/deepagents.toml:4", replaced="<X at 0x7f00>"
    )
    assert (
        make_plan(version="9").fingerprint
        == make_plan(entries=[core, tail]).fingerprint
        == make_plan().fingerprint
    )


@dataclass
class Rule:
    check: object


def test_memory_addresses_leave_the_fingerprint_alone():
    def with_objects():
        context = make_context(
            tools=(ask,), permissions=(Rule(object()), Rule(lambda: None)), response_format=object()
        )
        return make_plan(context=context, prompt=f"You are {object()!r}")

    assert with_objects().fingerprint == with_objects().fingerprint


@tool("look")
def look_deeper(path: str, depth: int = 1, hidden: bool = False) -> str:
    """Look at a folder."""
    return path


class OtherFiles(Files):
    name = "Files"


CORE = make_entry(Files, Segment.CORE, "middleware.files")
TAIL = make_entry(Audit, Segment.TAIL, "middleware.audit")
CHANGES = {
    "prompt": lambda: make_plan(prompt="Be careless."),
    "order": lambda: make_plan(entries=[TAIL, CORE]),
    "entry removed": lambda: make_plan(entries=[CORE]),
    "class": lambda: make_plan(entries=[evolve(CORE, cls=OtherFiles), TAIL]),
    "segment": lambda: make_plan(entries=[CORE, evolve(TAIL, segment=Segment.USER)]),
    "owner": lambda: make_plan(entries=[CORE, evolve(TAIL, plugin="middleware.other")]),
    "tool removed": lambda: make_plan(context=make_context()),
    "tool arguments": lambda: make_plan(context=make_context(tools=(ask, look_deeper))),
    "tool description": lambda: make_plan(
        context=make_context(tools=(ask.model_copy(update={"description": "Ask!"}),))
    ),
    "model": lambda: make_plan(
        context=make_context(tools=(ask,), model=ScriptedChatModel(["x"], model_name="other"))
    ),
    "profile": lambda: make_plan(
        context=make_context(tools=(ask,), profile=ProfileRef(HarnessProfile(), "x"))
    ),
    "backend": lambda: make_plan(context=make_context(tools=(ask,), backend=object())),
    "permissions": lambda: make_plan(context=make_context(tools=(ask,), permissions=())),
    "approvals": lambda: make_plan(context=make_context(tools=(ask,), interrupt_on={"ask": True})),
    "child removed": lambda: make_plan(children=()),
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_the_agent_is_made_of_changes_the_fingerprint(change):
    assert CHANGES[change]().fingerprint != make_plan().fingerprint


# Plans that a kernel made


class Tail:
    @hookimpl
    def deepagents_middleware(self):
        return MiddlewareSpec("Audit", Audit, lambda _: Audit(), segment=Segment.TAIL)


class Late:
    @hookimpl
    def deepagents_middleware(self):
        return MiddlewareSpec(
            "Late", LateMiddleware, lambda _: LateMiddleware(), segment=Segment.USER, before=("Own",)
        )


class Taker:
    @hookimpl
    def deepagents_middleware(self):
        spec = {"segment": Segment.TAIL, "replaces": "Audit"}
        return MiddlewareSpec("Better", BetterMiddleware, lambda _: BetterMiddleware(), **spec)


class LateMiddleware(AgentMiddleware):
    name = "Late"


class BetterMiddleware(AgentMiddleware):
    name = "Better"


class Own(AgentMiddleware):
    pass


class OwnFiles(AgentMiddleware):
    name = "Audit"


class Extra(AgentMiddleware):
    pass


def kernel_plan(plugins, **request):
    kernel = Kernel(plugins=plugins, builtins=TABLE)
    return kernel.plan(make_request(ScriptedChatModel(["x"]), **request)).to_dict()["main"]


TABLE = evolve(load_table(), plugins={"backend.state": load_table().plugins["backend.state"]})


def test_reasons_name_the_rule_that_placed_an_entry():
    profile = HarnessProfile(extra_middleware=[Extra()])
    main = kernel_plan(
        {"middleware.audit": Tail(), "middleware.late": Late()}, middleware=[Own()], profile=profile
    )
    assert [(entry["name"], entry["why"]) for entry in main["entries"]] == [
        ("Late", "asks to be before Own"),
        ("Own", "in the caller's order, behind what plugins add"),
        ("Extra", "the profile's additions open the tail"),
        ("Audit", "opens the tail, behind what the profile adds"),
    ]


def test_a_replacement_says_what_it_replaced():
    main = kernel_plan({"middleware.audit": Tail()}, middleware=[OwnFiles()])
    (entry,) = main["entries"]
    assert (entry["class"], entry["origin"], entry["replaced"]) == (
        f"{__name__}.OwnFiles",
        "caller",
        "plugin middleware.audit",
    )


def test_a_takeover_names_the_slot():
    main = kernel_plan({"middleware.audit": Tail(), "middleware.taker": Taker()})
    (entry,) = main["entries"]
    assert (entry["name"], entry["slot"], entry["why"]) == ("Better", "Audit", "takes the place of Audit")


def test_built_ins_come_from_the_kernel_distribution():
    entries = Kernel().plan(make_request("offline")).to_dict()["main"]["entries"]
    assert {(entry["distribution"], entry["version"]) for entry in entries} == {
        ("deepagents-kernel", __version__)
    }
    assert entries[0]["why"] == "place in the default order"


def test_a_counter_plugin_counts_the_plan():
    class Counter:
        @hookimpl
        def deepagents_token_counter(self):
            return lambda messages, tools: 1000 * len(messages) + len(tools)

    kernel = Kernel(plugins={"middleware.counter": Counter()})
    main = kernel.plan(make_request("offline", system_prompt="x")).to_dict(tokens=True)["main"]
    assert main["tokens"] == {
        "counter": "middleware.counter",
        "exact": True,
        "prompt": 1000,
        "tools": len(main["tools"]),
    }


# Plain values


def test_plain_keeps_data_and_names_the_rest():
    class Opaque:
        def __repr__(self):
            return "key=hunter2"

    value = {
        "a": {3, 1, 2},
        "b": (Segment.TAIL, StackKind.MAIN),
        4: [None, 1.5, True],
        "c": Opaque(),
        "d": Opaque,
        "e": len,
    }
    assert plain(value) == {
        "a": [1, 2, 3],
        "b": [2, "main"],
        "4": [None, 1.5, True],
        "c": f"{__name__}.{Opaque.__qualname__}",
        "d": f"{__name__}.{Opaque.__qualname__}",
        "e": "builtins.len",
    }
    assert plain(Dropped("n", Opaque, "r")) == {
        "name": "n",
        "cls": f"{__name__}.{Opaque.__qualname__}",
        "reason": "r",
    }
    assert plain(b"bytes") == "builtins.bytes"
