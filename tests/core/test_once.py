"""Values that the stacks of one agent share."""

from deepagents_kernel import Kernel, hookimpl, make_request
from deepagents_kernel.testing import ScriptedChatModel


def test_a_value_is_made_once_for_an_agent_and_anew_for_the_next():
    made = []

    class Plugin:
        @hookimpl
        def deepagents_tools(self, context):
            value = context.once(
                ("middleware.costly", "value"), lambda: made.append(context.path) or object()
            )
            seen.append(value)

    kernel = Kernel([("middleware.costly", Plugin())])
    request = make_request(ScriptedChatModel(["done"]), subagents=[{"name": "d", "description": "d"}])
    seen = []
    kernel.plan(request)
    assert made == ["main"]
    assert len(seen) == 3
    assert len(set(map(id, seen))) == 1
    first = seen[0]
    kernel.plan(request)
    assert made == ["main", "main"]
    assert seen[-1] is not first
