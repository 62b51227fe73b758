"""The plugin that notes which hooks are called."""

import inspect

import pytest
import tiny

from deepagents_kernel import Kernel, PluginError, PluginInfo, hookspec, hookspecs
from deepagents_kernel.testing import HookRecorder

HOOKS = {
    name: list(inspect.signature(value).parameters)
    for name, value in vars(hookspecs).items()
    if name.startswith("deepagents_")
}


class LabelHooks:
    @hookspec
    def deepagents_label(self, context, word):
        """A label."""


def labelling():
    """A plugin that declares a hook, and calls it for each stack."""

    def deepagents_addhooks(pluginmanager):
        pluginmanager.add_hookspecs(LabelHooks)

    def deepagents_tools(context):
        context.hooks("deepagents_label", context=context, word="noon")

    return tiny.plugin(
        PluginInfo(name="middleware.label"),
        deepagents_addhooks=deepagents_addhooks,
        deepagents_tools=deepagents_tools,
    )


def test_it_implements_every_hook_with_all_arguments():
    recorder = HookRecorder()
    kernel = Kernel([recorder])
    assert len(HOOKS) > 15
    for hook in HOOKS:
        if hook != "deepagents_addhooks":
            assert "bundle.hook-recorder" in kernel.calls.providers(hook)
    for hook, arguments in HOOKS.items():
        function = getattr(recorder, hook)
        assert list(inspect.signature(function).parameters) == arguments
        values = [object() for _ in arguments]
        assert function(*values) is None
        assert list(recorder.calls(hook)[-1].arguments.items()) == list(zip(arguments, values, strict=True))


def test_the_life_of_an_agent_in_order():
    recorder = HookRecorder()
    kernel = tiny.kernel([("bundle.recorder", recorder)])
    made = ["deepagents_addhooks", "deepagents_provider_profiles", "deepagents_harness_profiles"]
    assert [name for name in recorder.names() if name in (*made, "deepagents_configure")] == [
        *made,
        "deepagents_configure",
    ]
    recorder.clear()
    assert recorder.names() == []
    plan = kernel.plan(tiny.request())
    kernel.compile(plan)
    kernel.close()
    names = recorder.names()
    assert names[-3:] == ["deepagents_compile", "deepagents_agent_compiled", "deepagents_unconfigure"]
    assert names.index("deepagents_middleware") < names.index("deepagents_plan_modify")
    (compiled,) = recorder.calls("deepagents_agent_compiled")
    assert compiled.arguments["plan"] is plan
    assert compiled.stack == ""


def test_each_call_knows_its_stack():
    recorder = HookRecorder()
    kernel = tiny.kernel({"middleware.subagents": tiny.children(), "bundle.recorder": recorder})
    kernel.compile(kernel.plan(tiny.request()))
    both = ["main", "main/general-purpose"]
    for hook in ("deepagents_middleware", "deepagents_plan_modify", "deepagents_system_prompt"):
        assert [call.stack for call in recorder.calls(hook)] == both
    assert [call.stack for call in recorder.calls("deepagents_compile")] == ["main"]
    found = recorder.calls(stack="main/general-purpose")
    assert {call.stack for call in found} == {"main/general-purpose"}
    assert recorder.calls("deepagents_tools", stack="main") == [recorder.calls("deepagents_tools")[0]]
    assert recorder.calls("deepagents_unconfigure") == []


def test_an_agent_is_the_same_with_it():
    assert (
        Kernel([HookRecorder()]).plan(tiny.request()).fingerprint == Kernel().plan(tiny.request()).fingerprint
    )


@pytest.mark.parametrize("extra", [{"deepagents_label": ("context", "word")}, {"deepagents_label": "word"}])
def test_hooks_that_plugins_declare(extra):
    recorder = HookRecorder(extra=extra)
    tiny.kernel([labelling(), recorder]).plan(tiny.request())
    (call,) = recorder.calls("deepagents_label")
    assert call.arguments["word"] == "noon"
    assert call.stack == ("main" if "context" in call.arguments else "")


def test_a_hook_that_nobody_declares_is_refused_with_the_nearest():
    with pytest.raises(PluginError, match="nearest: deepagents_label"):
        tiny.kernel([labelling(), HookRecorder(extra={"deepagents_lable": "context"})])
    with pytest.raises(PluginError, match="no argument 'contxt'"):
        tiny.kernel([labelling(), HookRecorder(extra={"deepagents_label": ["contxt"]})])


@pytest.mark.parametrize("name", ["", "a b", "lambda", "x: print()", "1"])
def test_an_argument_has_to_be_a_name(name):
    with pytest.raises(PluginError, match="can't be an argument of the hook deepagents_label"):
        HookRecorder(extra={"deepagents_label": [name]})


def test_two_recorders_keep_apart():
    first, second = HookRecorder(), HookRecorder()
    tiny.kernel([("bundle.first", first)])
    assert first.names()
    assert second.names() == []
    assert repr(second) == "<HookRecorder, 0 calls>"


def test_a_call_is_shown_without_the_agent_that_it_was_about():
    recorder = HookRecorder()
    tiny.kernel([recorder])
    assert repr(recorder.calls("deepagents_configure")[0]) == (
        "HookCall(hook='deepagents_configure', arguments=<kernel>, stack='')"
    )
