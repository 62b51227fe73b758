"""The state schema of an agent: which one applies where, and what is refused."""

from typing import Annotated, NotRequired, Required, TypedDict

import pytest
from langchain.agents import AgentState
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import PrivateStateAttr
from langgraph.channels import DeltaChannel
from standins import full_table

from deepagents_kernel import DeepAgentState, Kernel, PlanError, create_deep_agent, hookimpl, make_request
from deepagents_kernel.testing import ScriptedChatModel

CHILD = {"name": "d", "description": "d"}


class Mine(DeepAgentState):
    """A state with a key of its own."""

    mine: NotRequired[str]


@pytest.fixture
def plan():
    kernel = Kernel(builtins=full_table())
    return lambda **arguments: kernel.plan(make_request(ScriptedChatModel(["done"]), **arguments))


@pytest.mark.spec("ASM-069", "SUB-021", "STATE-001")
def test_every_stack_has_the_delta_channel(plan):
    found = plan(subagents=[CHILD])
    assert {stack.state_schema for stack in found.stacks()} == {DeepAgentState}
    for stack in found.stacks():
        channel = stack.handle.graph().channels["messages"]
        assert isinstance(channel, DeltaChannel)
        assert channel.snapshot_frequency == 50


@pytest.mark.spec("ASM-069", "SUB-021")
def test_a_given_schema_reaches_every_planned_child(plan):
    found = plan(subagents=[CHILD], state_schema=Mine)
    assert {stack.state_schema for stack in found.stacks()} == {Mine}
    assert "mine" in found.stack("main/d").handle.graph().channels


def test_a_plugin_names_the_schema_where_the_caller_does_not():
    class Schema:
        @hookimpl
        def deepagents_state_schema(self):
            return Mine

    kernel = Kernel([("bundle.schema", Schema())])
    model = ScriptedChatModel(["done"])
    assert kernel.plan(make_request(model)).main.state_schema is Mine
    assert kernel.plan(make_request(model, state_schema=DeepAgentState)).main.state_schema is DeepAgentState


@pytest.mark.spec("STATE-011")
def test_a_schema_without_the_delta_channel_is_told(plan):
    class Plain(AgentState):
        other: NotRequired[int]

    (warning,) = plan(state_schema=Plain).warnings
    assert "Plain stores all messages in every checkpoint" in warning.text
    assert "DeepAgentState" in warning.hint

    class Nothing(TypedDict):
        other: int

    with pytest.raises(TypeError, match="Nothing has no key 'messages'"):
        plan(state_schema=Nothing)
    with pytest.raises(PlanError, match="dict"):
        plan(state_schema=dict)


@pytest.mark.spec("STATE-012", "STATE-014", "STATE-017", "SUB-055")
def test_private_keys_of_every_main_middleware_stay_with_the_parent():
    class Secret(AgentState):
        secret: Annotated[NotRequired[str], PrivateStateAttr]
        shared: NotRequired[str]

    class Base(DeepAgentState):
        hidden: Annotated[NotRequired[str], PrivateStateAttr]

    class Keeper(AgentMiddleware):
        state_schema = Secret

        def before_agent(self, state, runtime):
            return {"secret": "s", "hidden": "h", "shared": "x"}

    seen = []

    class Spy(AgentMiddleware):
        state_schema = Secret

        def before_agent(self, state, runtime):
            seen.append({key: value for key, value in state.items() if key != "messages"})
            return {"secret": "child", "hidden": "child", "shared": "y"}

    model = ScriptedChatModel([[("task", {"description": "x", "subagent_type": "d"})], "child done", "done"])
    agent = create_deep_agent(
        model, middleware=[Keeper()], state_schema=Base, subagents=[{**CHILD, "middleware": [Spy()]}]
    )
    result = agent.invoke({"messages": [("user", "go")]})
    (state,) = seen
    assert state["shared"] == "x"
    assert not {"secret", "hidden"} & set(state)
    assert result["shared"] == "y"


@pytest.mark.spec("STATE-014")
def test_two_agents_that_share_a_middleware_do_not_share_private_keys():
    from deepagents_kernel import SubAgentMiddleware
    from deepagents_kernel.backends import StateBackend

    class Secret(AgentState):
        secret: Annotated[NotRequired[str], PrivateStateAttr]

    class Keeper(AgentMiddleware):
        state_schema = Secret

    model = ScriptedChatModel(["done"])
    mine = SubAgentMiddleware(
        backend=StateBackend(), subagents=[{"name": "x", "description": "x", "model": model, "tools": []}]
    )
    kernel = Kernel()

    def installed(*middleware):
        plan = kernel.plan(make_request(model, middleware=[mine, *middleware]))
        return next(entry.instance for entry in plan.main.entries if entry.name == "SubAgentMiddleware")

    first, second = installed(Keeper()), installed()
    assert "secret" in first.private_state_keys
    assert "secret" not in second.private_state_keys
    assert mine.private_state_keys == frozenset()


@pytest.mark.spec("STATE-015", "SUB-056")
def test_a_schema_that_cannot_be_read_is_refused(plan):
    class Broken(AgentState):
        key: Required["NoSuchName"]  # noqa: F821

    class Uses(AgentMiddleware):
        state_schema = Broken

    with pytest.raises(PlanError, match=r"(?s)Broken.*'NoSuchName'.*can't be resolved") as caught:
        plan(middleware=[Uses()], subagents=[{**CHILD, "middleware": [Uses()]}])
    assert {problem.stack for problem in caught.value.problems} == {"main", "main/d"}


@pytest.mark.spec("STATE-016")
def test_default_private_keys(plan):
    entry = next(item for item in plan().main.entries if item.name == "SubAgentMiddleware")
    assert "jump_to" in entry.instance.private_state_keys
