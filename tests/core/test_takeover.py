"""Taking over another plugin's slot with ``replaces=``, and what can't be got rid of that way."""

import pytest
from langchain.agents.middleware import AgentMiddleware
from standins import full_table, names

from deepagents_kernel import Kernel, MiddlewareSpec, PlanError, hookimpl, make_request
from deepagents_kernel.testing import ScriptedChatModel


class Mine(AgentMiddleware):
    """Stands in for somebody else."""


def plan(*specs, **arguments):
    class Plugin:
        @hookimpl
        def deepagents_middleware(self):
            return [MiddlewareSpec("Mine", Mine, lambda _: Mine(), **options) for options in specs]

    kernel = Kernel([("middleware.mine", Plugin())], builtins=full_table())
    return kernel.plan(make_request(ScriptedChatModel(["done"]), **arguments))


def test_where_there_is_no_such_slot_there_is_nothing_to_take_over():
    found = plan({"replaces": "_ParentNotifierMiddleware"})
    assert names(found.main) == "FS SA Mine SUM PTC AC UC"
    assert names(found.main.child("general-purpose")) == "FS SUM PTC AC UC"


def test_a_vacant_claim_leaves_the_slot_alone():
    for name in ("FilesystemMiddleware", "SubAgentMiddleware", "SummarizationMiddleware"):
        assert names(plan({"replaces": name, "vacant": True}).main) == "FS SA PN SUM PTC AC UC"


def test_a_target_that_nobody_has_is_an_error_with_the_nearest_name():
    with pytest.raises(
        PlanError, match=r"(?s)replaces SumarizationMiddleware.*nearest: SummarizationMiddleware"
    ):
        plan({"replaces": "SumarizationMiddleware"})


def test_the_guard_is_not_taken_over():
    with pytest.raises(PlanError, match="replaces _ToolExclusionMiddleware"):
        plan({"replaces": "_ToolExclusionMiddleware"})


@pytest.mark.parametrize(
    "wish", [{"after": "X"}, {"before": "X"}, {"adopt": lambda m, c: m}, {"scaffolding": True}]
)
def test_what_belongs_to_the_slot_is_the_owners(wish):
    with pytest.raises(PlanError, match="which the slot's owner decides"):
        plan({"replaces": "SummarizationMiddleware", **wish})


def test_the_claimants_bind_follows_the_owners():
    seen = []

    class Owner:
        @hookimpl
        def deepagents_middleware(self):
            def bind(middleware, stack):
                seen.append("owner")
                return middleware

            return MiddlewareSpec("Owned", Mine, lambda _: Mine(), bind=bind)

    class Claimant:
        @hookimpl
        def deepagents_middleware(self):
            def bind(middleware, stack):
                seen.append("claimant")
                return middleware

            return MiddlewareSpec("Mine", Mine, lambda _: Mine(), replaces="Owned", bind=bind)

    plugins = {"middleware.claimant": Claimant(), "middleware.owner": Owner()}
    kernel = Kernel(plugins)
    kernel.plan(make_request(ScriptedChatModel(["done"])))
    assert seen == ["owner", "claimant"] * 2


@pytest.mark.parametrize(
    "options", [{"replaces": 5}, {"adopt": 5}, {"bind": "x"}, {"after": [5]}, {"before": (None,)}]
)
def test_a_spec_refuses_what_can_not_be_meant(options):
    with pytest.raises(TypeError):
        MiddlewareSpec("Mine", Mine, Mine, **options)


@pytest.mark.spec("EXC-008")
def test_scaffolding_that_gets_lost_by_whatever_route_is_told():
    class Thief:
        @hookimpl
        def deepagents_plan_modify(self, draft):
            draft._entries[:] = [entry for entry in draft.entries if entry.name != "FilesystemMiddleware"]

    kernel = Kernel([("middleware.thief", Thief())])
    with pytest.raises(PlanError, match=r"middleware.thief.*added to or removed from"):
        kernel.plan(make_request(ScriptedChatModel(["done"])))
