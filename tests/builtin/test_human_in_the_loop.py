"""Approvals: what rules demand, what the caller asks for, and that neither is lost."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import AgentMiddleware, HumanInTheLoopMiddleware
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from deepagents_builtin.middleware.human_in_the_loop import plugin
from deepagents_kernel.assembly.context import StackContext
from deepagents_kernel.assembly.request import make_request
from deepagents_kernel.assembly.specs import ChildStack, MiddlewareSpec, Segment, StackKind
from deepagents_kernel.errors import HookError, PlanError, PluginError, Problem
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.plugins.calls import HookCalls
from deepagents_kernel.plugins.info import PluginInfo, PluginRecord
from deepagents_kernel.plugins.registration import build_manager, plugin_info
from deepagents_kernel.profiles.harness import GeneralPurposeSubagentProfile, HarnessProfile
from deepagents_kernel.profiles.lookup import ProfileRef
from deepagents_kernel.testing.scripted import ScriptedChatModel

EVERY = ["approve", "edit", "reject", "respond"]


class Rules:
    """A plugin whose rules demand approvals."""

    def __init__(self, *records: Any) -> None:
        self.records = records

    @hookimpl(optionalhook=True)
    def deepagents_interrupt_on(self, context: Any) -> Any:
        return list(self.records)


def context_with(
    *rules: Rules,
    interrupt_on: Any = None,
    excluded: frozenset[str] = frozenset(),
    kind: StackKind = StackKind.MAIN,
    parent: Any = None,
    spec: Mapping[str, Any] | None = None,
) -> StackContext:
    plugins: dict[str, Any] = {"middleware.human-in-the-loop": plugin}
    plugins |= {f"middleware.rules-{number}": rule for number, rule in enumerate(rules)}
    records = [PluginRecord(name, item, plugin_info(name, item)) for name, item in plugins.items()]
    calls = HookCalls(build_manager(records), {record.name: record for record in records})
    profile = ProfileRef(HarnessProfile(excluded_tools=excluded))
    name = "main" if parent is None else kind.value
    return StackContext(
        kind=kind,
        name=name,
        path=name if parent is None else f"{parent.path}/{name}",
        request=None,
        model=None,
        profile=profile,
        registry_profile=profile,
        backend=None,
        parent=parent,
        spec=spec or {},
        interrupt_on=interrupt_on,
        call=calls,
    )


def slot(context: StackContext) -> Any:
    (contribution,) = context.hooks("deepagents_middleware", context=context)
    return contribution.value


def installed(context: StackContext) -> dict[str, Any]:
    return slot(context).factory(context).interrupt_on


def asks(when: Any) -> dict[str, Any]:
    return {"allowed_decisions": list(EVERY), "when": when}


def for_path(path: str) -> Any:
    return lambda request: request.tool_call["args"].get("path") == path


def request(path: str) -> Any:
    return SimpleNamespace(tool_call={"name": "read_file", "args": {"path": path}, "id": "c1"})


def problems(context: StackContext) -> list[str]:
    with pytest.raises(PlanError) as caught:
        slot(context)
    assert {problem.stack for problem in caught.value.problems} == {context.path}
    return [problem.describe() for problem in caught.value.problems]


# -- the slot --------------------------------------------------------------------------------------


@pytest.mark.spec("ASM-083")
@pytest.mark.parametrize(
    ("interrupt_on", "vacant"), [(None, True), ({}, True), ({"x": False}, False), ({"x": True}, False)]
)
def test_the_slot_is_vacant_only_when_nothing_is_said_about_approvals(interrupt_on: Any, vacant: bool):
    spec = slot(context_with(interrupt_on=interrupt_on))
    assert spec.vacant is vacant
    assert (spec.name, spec.segment, spec.heritable) == ("HumanInTheLoopMiddleware", Segment.TAIL, False)


@pytest.mark.spec("ASM-083")
def test_an_approval_stage_without_approvals_can_be_had():
    context = context_with(interrupt_on={"x": False})
    made = slot(context).factory(context)
    assert type(made) is slot(context).cls is HumanInTheLoopMiddleware
    assert made.interrupt_on == {}


def test_demands_alone_fill_the_slot():
    context = context_with(Rules({"read_file": True}))
    assert not slot(context).vacant
    assert installed(context) == {"read_file": {"allowed_decisions": EVERY}}


# -- merging ---------------------------------------------------------------------------------------


@pytest.mark.spec("ASM-081")
def test_demanded_entries_come_first_and_the_callers_are_added():
    demanded, other = asks(for_path("/a")), {"allowed_decisions": ["approve"]}
    context = context_with(Rules({"read_file": demanded}), interrupt_on={"send": other, "quiet": False})
    assert installed(context) == {"read_file": demanded, "send": other}
    assert list(installed(context)) == ["read_file", "send"]


@pytest.mark.spec("ASM-081")
def test_a_caller_may_tighten_a_demanded_approval():
    context = context_with(
        Rules({"read_file": {**asks(for_path("/a")), "description": "theirs"}}),
        interrupt_on={"read_file": {"allowed_decisions": ["reject", "approve"], "description": "mine"}},
    )
    entry = installed(context)["read_file"]
    assert entry == {"allowed_decisions": ["reject", "approve"], "description": "mine"}, (
        "asks for every path now"
    )


@pytest.mark.spec("ASM-082")
def test_a_callers_condition_widens_a_demanded_one_and_never_replaces_it():
    context = context_with(
        Rules({"read_file": asks(for_path("/a"))}), interrupt_on={"read_file": asks(for_path("/b"))}
    )
    when = installed(context)["read_file"]["when"]
    assert [when(request(path)) for path in ("/a", "/b", "/c")] == [True, True, False]


@pytest.mark.spec("ASM-082")
def test_a_callers_condition_cannot_narrow_an_unconditional_demand():
    context = context_with(Rules({"read_file": True}), interrupt_on={"read_file": asks(lambda _: False)})
    assert "when" not in installed(context)["read_file"]


@pytest.mark.spec("ASM-082")
def test_a_demanded_approval_cannot_be_switched_off():
    context = context_with(
        Rules({"read_file": True, "grep": True}), interrupt_on={"read_file": False, "grep": False}
    )
    found = problems(context)
    assert len(found) == 2
    assert "'read_file'" in found[0]
    assert "middleware.rules-0" in found[0]
    assert "'grep'" in found[1]


@pytest.mark.spec("ASM-082")
def test_a_caller_cannot_allow_only_decisions_that_the_rule_refuses():
    context = context_with(
        Rules({"send": {"allowed_decisions": ["approve", "reject"]}}),
        interrupt_on={"send": {"allowed_decisions": ["edit"]}},
    )
    (found,) = problems(context)
    assert "no decision is allowed by both" in found


def test_demands_of_two_plugins_on_one_tool_are_combined():
    context = context_with(
        Rules({"read_file": asks(for_path("/a"))}, {"ls": False}),
        Rules({"read_file": {"allowed_decisions": ["approve", "reject"], "when": for_path("/b")}}),
    )
    assert list(installed(context)) == ["read_file"]
    entry = installed(context)["read_file"]
    assert entry["allowed_decisions"] == ["approve", "reject"]
    assert [entry["when"](request(path)) for path in ("/a", "/b", "/c")] == [True, True, False]


def test_demands_that_exclude_each_other_name_both_plugins():
    context = context_with(
        Rules({"send": {"allowed_decisions": ["approve"]}}),
        Rules({"send": {"allowed_decisions": ["reject"]}}),
    )
    (found,) = problems(context)
    assert "middleware.rules-0 and middleware.rules-1" in found


def test_what_is_demanded_in_a_child_lies_under_what_applies_there():
    main = context_with(interrupt_on={"send": True})
    inherited = context_with(
        Rules({"grep": True}), interrupt_on={"send": True}, kind=StackKind.SUBAGENT, parent=main
    )
    disabled = context_with(
        Rules({"grep": True}),
        interrupt_on={},
        kind=StackKind.SUBAGENT,
        parent=main,
        spec={"interrupt_on": {}},
    )
    assert list(installed(inherited)) == ["grep", "send"]
    assert list(installed(disabled)) == ["grep"]


@pytest.mark.spec("TEX-010", "TOOL-013")
def test_nobody_is_asked_about_a_tool_that_would_be_refused():
    context = context_with(
        Rules({"grep": True, "ls": True}),
        interrupt_on={"send": True, "mine": True},
        excluded=frozenset({"grep", "send"}),
    )
    assert list(installed(context)) == ["ls", "mine"]


# -- malformed entries -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("interrupt_on", "parts"),
    [
        ({"send": {"allowed_decisions": ["aprove"]}}, ["'send'", "'aprove'", "nearest: approve"]),
        ({"send": {"allowed_decisions": []}}, ["'send'", "at least one decision"]),
        ({"send": {"allowed_decisions": "approve"}}, ["'send'", "list"]),
        ({"send": {"allowed_decision": ["approve"]}}, ["'allowed_decision'", "nearest: allowed_decisions"]),
        ({"send": "yes"}, ["'send'", "str 'yes'"]),
        ({"send": None}, ["'send'", "NoneType"]),
        ({"send": {"allowed_decisions": ["approve"], "when": True}}, ["'when'", "bool"]),
        ({"send": {"allowed_decisions": ["approve"], "description": 3}}, ["'description'", "int"]),
        ({3: True}, ["3 is not the name of a tool"]),
        (["send"], ["interrupt_on is list"]),
    ],
)
def test_malformed_entries_are_refused_early(interrupt_on: Any, parts: list[str]):
    found = "\n".join(problems(context_with(interrupt_on=interrupt_on)))
    for part in parts:
        assert part in found


def test_every_malformed_entry_is_reported():
    context = context_with(interrupt_on={"a": 1, "b": {"allowed_decisions": ["no"]}, "c": True})
    assert len(problems(context)) == 2


def test_a_malformed_demand_names_its_plugin():
    (found,) = problems(context_with(Rules({"send": {"allowed_decisions": []}})))
    assert "middleware.rules-0" in found


def test_a_demand_that_is_no_mapping_names_its_plugin():
    with pytest.raises((PlanError, HookError), match=r"middleware\.rules-0"):
        slot(context_with(Rules("send")))


# -- a caller's own middleware ---------------------------------------------------------------------


class Subclass(HumanInTheLoopMiddleware[Any, Any, Any]):
    pass


class Foreign(AgentMiddleware[Any, Any, Any]):
    name = "HumanInTheLoopMiddleware"


def adopted(context: StackContext, middleware: Any) -> Any:
    return slot(context).adopt(middleware, context)


@pytest.mark.spec("ASM-086")
@pytest.mark.parametrize("cls", [HumanInTheLoopMiddleware, Subclass])
def test_a_callers_middleware_is_copied_and_asks_for_what_is_demanded(cls: Any):
    demanded = asks(for_path("/a"))
    context = context_with(Rules({"read_file": demanded}), interrupt_on={"send": True, "mine": True})
    mine = cls(
        {"mine": {"allowed_decisions": ["reject"]}}, description_prefix="Hm", interrupt_mode="per_call"
    )

    copy = adopted(context, mine)

    assert copy.interrupt_on == {
        "read_file": demanded,
        "send": {"allowed_decisions": EVERY},
        "mine": {"allowed_decisions": ["reject"]},
    }
    assert type(copy) is cls
    assert (copy.description_prefix, copy.interrupt_mode) == ("Hm", "per_call")
    assert mine.interrupt_on == {"mine": {"allowed_decisions": ["reject"]}}


@pytest.mark.spec("ASM-086")
def test_a_callers_own_approval_of_a_guarded_tool_tightens_it():
    context = context_with(Rules({"read_file": asks(for_path("/a"))}))
    copy = adopted(context, HumanInTheLoopMiddleware({"read_file": {"allowed_decisions": ["reject"]}}))
    assert copy.interrupt_on == {"read_file": {"allowed_decisions": ["reject"]}}


@pytest.mark.parametrize("mine", [HumanInTheLoopMiddleware({"mine": True}), Foreign()])
def test_with_nothing_to_add_the_callers_own_object_is_installed(mine: Any):
    assert adopted(context_with(), mine) is mine


def test_a_middleware_that_asks_for_everything_already_is_installed_itself():
    mine = HumanInTheLoopMiddleware({"send": True})
    assert adopted(context_with(interrupt_on={"send": True, "x": False}), mine) is mine


# -- the finished plan -----------------------------------------------------------------------------


@pytest.fixture
def tool_names(monkeypatch: pytest.MonkeyPatch):
    """Stand-in stacks carry their tool names themselves."""
    module = ModuleType("deepagents_kernel.assembly.tools")
    module.stack_tool_names = lambda stack: dict.fromkeys(stack.tool_names)
    monkeypatch.setitem(sys.modules, module.__name__, module)


def stack(
    context: StackContext, *middleware: Any, tools: tuple[str, ...] = (), children: tuple[Any, ...] = ()
) -> Any:
    entries = tuple(SimpleNamespace(instance=item, slot=item.name, origin="plugin") for item in middleware)
    return SimpleNamespace(
        context=context, path=context.path, entries=entries, tool_names=tools, children=children, dropped=()
    )


def validate(main: Any) -> list[Any]:
    plan = SimpleNamespace(stacks=lambda: iter([main, *main.children]))
    (contribution, *rest) = main.context.hooks("deepagents_plan_validate", plan=plan) or [None]
    return [] if contribution is None else [contribution.value, *(item.value for item in rest)]


@pytest.mark.spec("EXC-019")
def test_a_demanded_approval_that_nobody_would_ask_for_is_an_error(tool_names: None):
    context = context_with(Rules({"read_file": True}))
    (problem,) = validate(stack(context, AgentMiddleware(), tools=("read_file",)))
    assert problem.severity == "error"
    assert "'read_file'" in problem.text
    assert "middleware.rules-0" in problem.text
    assert problem.plugin == "middleware.rules-0"
    assert validate(stack(context, slot(context).factory(context), tools=("read_file",))) == []


def test_a_demand_on_an_excluded_tool_needs_no_approval_stage(tool_names: None):
    context = context_with(Rules({"read_file": True}), excluded=frozenset({"read_file"}))
    assert validate(stack(context, tools=("read_file",))) == []


def test_a_name_that_no_tool_has_is_a_warning_with_the_nearest_name(tool_names: None):
    context = context_with(interrupt_on={"read_fil": True, "ls": True})
    (problem,) = validate(stack(context, slot(context).factory(context), tools=("ls", "read_file")))
    assert problem.severity == "warning"
    assert (problem.stack, problem.hint) == ("main", "nearest: read_file")
    assert "'read_fil'" in problem.text


def test_a_name_may_mean_a_tool_of_a_child_that_inherits(tool_names: None):
    main = context_with(interrupt_on={"dig": True})
    inheriting = context_with(interrupt_on={"dig": True}, kind=StackKind.SUBAGENT, parent=main)
    apart = context_with(interrupt_on=None, kind=StackKind.SUBAGENT, parent=main, spec={"interrupt_on": None})

    asking = slot(inheriting).factory(inheriting)
    assert validate(stack(main, tools=("ls",), children=(stack(inheriting, asking, tools=("dig",)),))) == []
    (problem,) = validate(stack(main, tools=("ls",), children=(stack(apart, tools=("dig",)),)))
    assert "'dig'" in problem.text


def test_a_childs_own_names_are_checked_against_its_own_tools(tool_names: None):
    main = context_with()
    own = context_with(
        interrupt_on={"lst": True}, kind=StackKind.SUBAGENT, parent=main, spec={"interrupt_on": {"lst": True}}
    )
    (problem,) = validate(stack(main, children=(stack(own, tools=("ls",)),)))
    assert (problem.stack, problem.hint) == ("main/subagent", "nearest: ls")


# -- approvals that would be lost ------------------------------------------------------------------

SLOT = "HumanInTheLoopMiddleware"


class Usurper(AgentMiddleware[Any, Any, Any]):
    """Asks nobody."""


class Takeover:
    """A plugin that stands in the slot of approvals."""

    def __init__(self, cls: type, *, vacant: bool = False) -> None:
        self.cls, self.vacant = cls, vacant

    @hookimpl
    def deepagents_middleware(self) -> MiddlewareSpec:
        cls = self.cls
        make = cls if cls is Usurper else lambda: cls({})
        return MiddlewareSpec(
            cls.__name__, cls, lambda _: make(), segment=Segment.TAIL, replaces=SLOT, vacant=self.vacant
        )


class Permissive(HumanInTheLoopMiddleware[Any, Any, Any]):
    """Asks for nothing by itself."""


def plan_of(*plugins: Any, profiles: Mapping[str, HarnessProfile] | None = None, **arguments: Any) -> Any:
    kernel = Kernel([(f"middleware.extra-{number}", item) for number, item in enumerate(plugins)])
    for key, profile in (profiles or {}).items():
        kernel.profiles.register_harness(key, profile)
    model = arguments.pop("model", None) or ScriptedChatModel(["done"], provider="here", model_name="m")
    return kernel.plan(make_request(model, **arguments))


def refusals(*plugins: Any, **arguments: Any) -> list[Problem]:
    with pytest.raises(PlanError) as caught:
        plan_of(*plugins, **arguments)
    return list(caught.value.problems)


def without(*names: Any) -> HarnessProfile:
    return HarnessProfile(excluded_middleware=set(names))


@pytest.mark.spec("EXC-019", "ASM-086")
@pytest.mark.parametrize(
    ("plugins", "arguments", "said"),
    [
        ((), {"profile": without(SLOT)}, "excluded by profile"),
        ((), {"profile": without(HumanInTheLoopMiddleware)}, "excluded by profile"),
        ((), {"profiles": {"here:m": without(SLOT)}}, "excluded by profile here:m"),
        ((Takeover(Usurper),), {}, "plugin middleware.extra-0 put"),
        ((), {"profile": HarnessProfile(extra_middleware=[Foreign()])}, "profile="),
        ((), {"middleware": [Foreign()]}, "Foreign in the place of"),
    ],
    ids=["name", "class", "registered", "takeover", "extra", "caller"],
)
@pytest.mark.parametrize("by_rules", [False, True], ids=["caller", "rules"])
def test_whatever_removes_the_approvals_that_somebody_wants_is_refused_by_name(
    plugins: Any, arguments: Any, said: str, by_rules: bool
):
    if by_rules:
        wanted = {"write_file": True}
        problem, *others = refusals(*plugins, Rules(wanted), interrupt_on=wanted, **arguments)
        assert {other.stack for other in others} <= {"main/general-purpose"}
        assert f"rules of middleware.extra-{len(plugins)} demand" in problem.text
    else:
        problem, *_ = refusals(*plugins, interrupt_on={"write_file": True, "ls": False}, **arguments)
        assert problem.text.startswith("interrupt_on wants approvals of 'write_file', ")
    assert said in problem.text
    assert problem.stack == "main"
    assert problem.hint


@pytest.mark.parametrize(
    ("takeover", "cls"),
    [(Takeover(Permissive), Permissive), (Takeover(Usurper, vacant=True), HumanInTheLoopMiddleware)],
    ids=["stage", "vacant"],
)
def test_a_takeover_takes_no_approvals_away(takeover: Takeover, cls: type):
    plan = plan_of(takeover, interrupt_on={"write_file": True})
    (stage,) = [entry.instance for entry in plan.main.entries if entry.slot == SLOT]
    assert (type(stage), list(stage.interrupt_on)) == (cls, ["write_file"])


@pytest.mark.spec("EXC-019")
@pytest.mark.parametrize(
    ("own", "lost"),
    [({}, "'write_file'"), ({"interrupt_on": {"ls": True}}, "'ls'"), ({"interrupt_on": {}}, "")],
    ids=["inherited", "own", "none"],
)
def test_a_childs_approvals_are_not_lost_either(own: Any, lost: str):
    child = {
        "name": "d",
        "description": "d",
        "model": ScriptedChatModel(["done"], provider="here", model_name="n"),
    }
    arguments: Any = {
        "profiles": {"here:n": without(SLOT)},
        "interrupt_on": {"write_file": True},
        "subagents": [{**child, **own}],
    }
    if not lost:
        assert SLOT not in [entry.name for entry in plan_of(**arguments).stack("main/d").entries]
        return
    (problem,) = refusals(**arguments)
    assert problem.stack == "main/d"
    assert f"interrupt_on wants approvals of {lost}, " in problem.text
    assert "excluded by profile here:n" in problem.text


@pytest.mark.spec("EXC-019", "EXC-015")
def test_approvals_of_a_stage_that_was_passed_are_not_lost_with_it():
    problem, *_ = refusals(middleware=[HumanInTheLoopMiddleware({"write_file": True})], profile=without(SLOT))
    assert (
        "the HumanInTheLoopMiddleware that was passed wants approvals of 'write_file', and nothing"
        in problem.text
    )
    assert "excluded by profile" in problem.text
    both = [HumanInTheLoopMiddleware({"write_file": True}), HumanInTheLoopMiddleware({"ls": True})]
    (problem,) = refusals(middleware=both)
    assert "'write_file'" in problem.text


def test_approvals_of_a_stage_that_a_child_inherits_are_not_lost_either():
    class Twins:
        @hookimpl
        def deepagents_child_stacks(self, context: Any) -> Any:
            if context.kind == "main":
                spec = {"name": "twin", "model": ScriptedChatModel(["x"], provider="here", model_name="n")}
                yield ChildStack("fork", "twin", spec, inherit="all")

    mine = HumanInTheLoopMiddleware({"write_file": True})
    (problem,) = refusals(Twins(), middleware=[mine], profiles={"here:n": without(SLOT)})
    assert problem.stack == "main/twin"
    plan = plan_of(Twins(), middleware=[mine])
    assert mine in plan.stack("main/twin").middleware


@pytest.mark.parametrize(
    ("interrupt_on", "excluded", "warned"),
    [
        ({"write_file": False}, (), []),
        ({"write_file": True}, ("write_file",), []),
        ({"nothing": True}, (), ["'nothing'"]),
    ],
    ids=["false", "excluded", "unknown"],
)
def test_nothing_is_lost_where_there_is_nothing_to_ask(interrupt_on: Any, excluded: Any, warned: list[str]):
    profile = HarnessProfile(excluded_middleware={SLOT}, excluded_tools=set(excluded))
    plan = plan_of(profile=profile, interrupt_on=interrupt_on)
    assert SLOT not in [entry.name for entry in plan.main.entries]
    assert len(plan.warnings) == len(warned)
    assert all(name in problem.text for name, problem in zip(warned, plan.warnings, strict=True))


def test_another_stage_that_asks_will_do():
    stage = Permissive({"write_file": True})
    profiles = {"here:m": without(SLOT)}
    off = HarnessProfile(general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=False))
    plan = plan_of(middleware=[stage], interrupt_on={"write_file": True}, profiles=profiles, profile=off)
    assert [
        entry.name for entry in plan.main.entries if isinstance(entry.instance, HumanInTheLoopMiddleware)
    ] == ["Permissive"]


class Elsewhere(HumanInTheLoopMiddleware[Any, Any, Any]):
    """Stands beside the slot, as its name is not the slot's."""


class Other(HumanInTheLoopMiddleware[Any, Any, Any]):
    """One more."""


NO_CHILDREN = GeneralPurposeSubagentProfile(enabled=False)
NEVER = {"allowed_decisions": ["approve", "edit"], "when": lambda _: False}
CAREFUL = {"write_file": {"allowed_decisions": ["approve", "reject"]}}


def emptied(*names: Any) -> HarnessProfile:
    return HarnessProfile(excluded_middleware=set(names), general_purpose_subagent=NO_CHILDREN)


@pytest.mark.spec("EXC-019", "ASM-082")
@pytest.mark.parametrize("excluded", [SLOT, HumanInTheLoopMiddleware], ids=["name", "class"])
@pytest.mark.parametrize("asking", [NEVER, True, CAREFUL["write_file"]], ids=["never", "loose", "alike"])
@pytest.mark.parametrize("interrupt_on", [None, {"write_file": True}], ids=["rules", "both"])
def test_a_stage_beside_an_emptied_slot_settles_no_demand_of_rules(
    excluded: Any, asking: Any, interrupt_on: Any
):
    (problem,) = refusals(
        Rules(CAREFUL),
        middleware=[Elsewhere({"write_file": asking})],
        interrupt_on=interrupt_on,
        profile=emptied(excluded),
    )
    assert problem.text.startswith("rules of middleware.extra-0 demand an approval of 'write_file', and only")
    assert "only Elsewhere would ask" in problem.text
    assert "excluded by profile" in problem.text
    assert (problem.stack, problem.plugin) == ("main", "middleware.extra-0")


@pytest.mark.spec("EXC-019")
def test_a_stage_in_additional_middleware_of_a_profile_settles_no_demand_either():
    profile = HarnessProfile(
        excluded_middleware={SLOT},
        extra_middleware=[Elsewhere({"write_file": NEVER})],
        general_purpose_subagent=NO_CHILDREN,
    )
    (problem,) = refusals(Rules(CAREFUL), profile=profile)
    assert "only Elsewhere would ask" in problem.text


@pytest.mark.spec("ASM-086")
@pytest.mark.parametrize("name", [SLOT, "Elsewhere"], ids=["in the slot", "beside it"])
def test_with_the_slot_filled_a_weaker_stage_takes_nothing_from_what_rules_demand(name: str):
    mine = type("Mine", (HumanInTheLoopMiddleware,), {"name": name})({"write_file": NEVER})
    profile = emptied(HumanInTheLoopMiddleware) if name == SLOT else emptied()
    plan = plan_of(Rules(CAREFUL), middleware=[mine], profile=profile)
    (stage,) = [entry.instance for entry in plan.main.entries if entry.slot == SLOT]
    assert "when" not in stage.interrupt_on["write_file"]
    assert set(stage.interrupt_on["write_file"]["allowed_decisions"]) <= {"approve", "reject"}


@pytest.mark.spec("EXC-019")
def test_what_interrupt_on_wants_is_not_settled_by_a_stage_that_asks_on_a_condition():
    arguments: Any = {"profile": emptied(SLOT), "middleware": [Elsewhere({"write_file": NEVER, "ls": True})]}
    (problem,) = refusals(interrupt_on={"write_file": True, "ls": True}, **arguments)
    assert problem.text.startswith(
        "interrupt_on wants approvals of 'write_file', and only Elsewhere would ask, on a condition"
    )
    assert plan_of(interrupt_on={"ls": True}, **arguments)


def test_a_stage_that_was_passed_is_enough_for_what_it_wants_itself():
    mine = Elsewhere({"write_file": NEVER})
    assert mine in plan_of(profile=emptied(SLOT), middleware=[mine]).main.middleware
    in_slot = HumanInTheLoopMiddleware({"write_file": NEVER})
    plan = plan_of(Rules({"ls": True}), middleware=[in_slot])
    (stage,) = [entry.instance for entry in plan.main.entries if entry.slot == SLOT]
    assert list(stage.interrupt_on) == ["ls", "write_file"]


@pytest.mark.spec("EXC-019")
@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("rules", [(), (Rules({"write_file": NEVER}),)], ids=["caller", "rules"])
def test_a_stage_that_is_lost_is_not_made_up_for_by_one_that_asks_on_a_condition(order: int, rules: Any):
    stages = [Elsewhere({"write_file": True}), Other({"write_file": NEVER})][::order]
    (problem,) = refusals(*rules, middleware=stages, profile=emptied("Elsewhere"))
    assert problem.text.startswith("the Elsewhere that was passed wants approvals of 'write_file', and only ")
    assert "on a condition of its own: Elsewhere was excluded by profile" in problem.text
    assert plan_of(*rules, middleware=stages, profile=emptied())


# -- what is wrong with a rule is told once --------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "interrupt_on"),
    [
        ({"ls": {"allowed_decisions": []}}, None),
        ({"ls": True}, {"ls": False}),
        ({}, {"ls": {"allowed_decisions": []}}),
        ({}, {3: True}),
    ],
    ids=["malformed", "contradicted", "callers", "no-name"],
)
def test_what_is_wrong_with_an_approval_is_told_once_in_a_stack(rules: Any, interrupt_on: Any):
    found = refusals(Rules(rules), interrupt_on=interrupt_on)
    assert sorted(problem.stack for problem in found) == ["main", "main/general-purpose"]


def test_a_malformed_rule_is_not_told_again_by_the_check_of_the_plan(tool_names: None):
    assert validate(stack(context_with(Rules({"ls": {"allowed_decisions": []}})), tools=("ls",))) == []


def test_a_rule_about_a_tool_that_no_stack_has_is_a_warning_that_names_the_plugin():
    plan = plan_of(
        Rules({"write_fil": True, "dig": True, "ls": True, "grepp": False}),
        Rules({"write_fil": True}),
        subagents=[{"name": "d", "description": "d", "tools": [dig]}],
    )
    (problem,) = plan.warnings
    assert "rules of middleware.extra-0 and middleware.extra-1 demand" in problem.text
    assert "'write_fil'" in problem.text
    assert problem.plugin == "middleware.extra-0, middleware.extra-1"
    assert (problem.stack, problem.hint.split(",")[0]) == ("main", "nearest: write_file")


@tool
def dig() -> str:
    """Dig."""
    return "earth"


# -- rules without approvals -----------------------------------------------------------------------


class RequiringRules(Rules):
    PLUGIN = PluginInfo(requires=("middleware.human-in-the-loop",))


class StrictRules:
    """Rules whose hook is not optional."""

    @hookimpl
    def deepagents_interrupt_on(self) -> Any:
        return {"ls": True}


@pytest.mark.parametrize("rules", [RequiringRules({"ls": True}), StrictRules()])
def test_rules_that_need_the_approvals_are_refused_without_them(rules: Any):
    plugins = [("middleware.rules", rules)]
    with pytest.raises(PluginError, match=r"middleware\.rules"):
        Kernel(plugins, disable=["middleware.human-in-the-loop"])
    plan = Kernel(plugins).plan(make_request(ScriptedChatModel(["done"])))
    assert SLOT in [entry.name for entry in plan.main.entries]


# -- in an agent -----------------------------------------------------------------------------------


@pytest.mark.spec("ASM-086")
@pytest.mark.parametrize("own", [False, True], ids=["built", "adopted"])
@pytest.mark.parametrize("asynchronous", [False, True], ids=["sync", "async"])
async def test_a_demanded_approval_is_asked_for_and_its_answer_counts(own: bool, asynchronous: bool):
    ran: list[str] = []

    @tool
    def read_file(path: str) -> str:
        """Read a file."""
        ran.append(path)
        return "content"

    context = context_with(Rules({"read_file": asks(for_path("/secret"))}))
    mine = HumanInTheLoopMiddleware({"other": True})
    middleware = adopted(context, mine) if own else slot(context).factory(context)
    paths = {"c1": "/open", "c2": "/secret"}
    calls = [{"name": "read_file", "args": {"path": path}, "id": call_id} for call_id, path in paths.items()]
    model = GenericFakeChatModel(messages=iter([AIMessage("", tool_calls=calls), AIMessage("done")]))
    object.__setattr__(model, "bind_tools", lambda tools, **_: model)
    agent = create_agent(model, [read_file], middleware=[middleware], checkpointer=InMemorySaver())
    config: Any = {"configurable": {"thread_id": "1"}}

    async def run(value: Any) -> Any:
        return await agent.ainvoke(value, config) if asynchronous else agent.invoke(value, config)

    (question,) = (await run({"messages": [HumanMessage("go")]}))["__interrupt__"]
    assert [item["args"]["path"] for item in question.value["action_requests"]] == ["/secret"]
    after = await run(Command(resume={"decisions": [{"type": "reject"}]}))

    assert ran == ["/open"]
    statuses = {m.tool_call_id: m.status for m in after["messages"] if isinstance(m, ToolMessage)}
    assert statuses == {"c1": "success", "c2": "error"}
