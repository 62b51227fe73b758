"""What ``deepagents_plan_modify`` may do to a stack."""

import pytest
from standins import full_table, names

from deepagents_kernel import Kernel, PlanError, hookimpl, make_request
from deepagents_kernel.testing import ScriptedChatModel


def plan(modify, **arguments):
    class Modify:
        @hookimpl
        def deepagents_plan_modify(self, draft):
            modify(draft)

    kernel = Kernel([("middleware.modify", Modify())], builtins=full_table())
    return kernel.plan(make_request(ScriptedChatModel(["done"]), **arguments))


def test_entries_move_within_their_segment_and_say_who_moved_them():
    found = plan(lambda draft: draft.move("SummarizationMiddleware", before="FilesystemMiddleware"))
    assert names(found.main) == "SUM FS SA PN PTC AC UC"
    assert names(found.main.child("general-purpose")) == "SUM FS PTC AC UC"
    assert found.main.entries[0].notes == ("moved by middleware.modify",)
    assert "moved by middleware.modify" in found.render()
    found = plan(lambda draft: draft.move("FilesystemMiddleware", after="SummarizationMiddleware"))
    assert names(found.main) == "SA PN SUM FS PTC AC UC"


def test_notes_are_shown():
    found = plan(lambda draft: draft.annotate("FilesystemMiddleware", "reviewed in May"))
    assert found.main.entries[0].notes == ("reviewed in May",)
    assert "reviewed in May" in found.render()


@pytest.mark.parametrize(
    ("modify", "text"),
    [
        (
            lambda draft: draft.move("FilesystemMiddleware", after="UnsupportedContentMiddleware"),
            "segments never mix",
        ),
        (
            lambda draft: draft.move("FilesystemMiddelware", after="SubAgentMiddleware"),
            "nearest: FilesystemMiddleware",
        ),
        (lambda draft: draft.move("FilesystemMiddleware"), "either before= or after="),
        (lambda draft: draft.annotate("Nothing", "x"), "no middleware named 'Nothing'"),
    ],
)
def test_what_a_draft_refuses_is_a_problem_of_the_plugin(modify, text):
    with pytest.raises(PlanError, match=text) as caught:
        plan(modify)
    assert {problem.plugin for problem in caught.value.problems} == {"middleware.modify"}
    assert "main" in {problem.stack for problem in caught.value.problems}


def test_a_move_that_breaks_a_declared_constraint_is_an_error():
    from langchain.agents.middleware import AgentMiddleware

    from deepagents_kernel import MiddlewareSpec

    class Late(AgentMiddleware):
        """Wants to follow the patcher."""

    class Plugin:
        @hookimpl
        def deepagents_middleware(self):
            return MiddlewareSpec("Late", Late, lambda _: Late(), after="PatchToolCallsMiddleware")

        @hookimpl
        def deepagents_plan_modify(self, draft):
            draft.move("Late", before="FilesystemMiddleware")

    kernel = Kernel([("middleware.late", Plugin())])
    with pytest.raises(PlanError, match="asks that PatchToolCallsMiddleware comes before Late"):
        kernel.plan(make_request(ScriptedChatModel(["done"])))


def test_the_guard_is_not_in_the_draft():
    from deepagents_kernel import HarnessProfile

    seen = []
    found = plan(lambda draft: seen.append(draft.names), profile=HarnessProfile(excluded_tools={"grep"}))
    assert all("_ToolExclusionMiddleware" not in stack for stack in seen)
    assert names(found.main).endswith("UC TX")
