"""The plugin for pytest: its fixtures, what it shows of plans, and that it costs nothing."""

import json
import subprocess
import sys
import tomllib

import pytest
import tiny
from pages import ROOT, code_blocks, read

import deepagents_kernel.testing as door
from deepagents_kernel import BuiltinTable, PluginError, PluginInfo
from deepagents_kernel.testing import HookRecorder

MODULE = "deepagents_kernel.testing.pytest_plugin"

pytest_plugins = ["pytester", MODULE]


def audit(**hooks):
    hooks = hooks or {"deepagents_middleware": lambda: tiny.slot("Audit")}
    return tiny.plugin(PluginInfo(name="middleware.audit"), **hooks)


def test_a_kernel_has_the_built_ins_and_what_it_is_given(make_kernel):
    kernel = make_kernel(audit(), disable=["model.offline"], settings={"kernel": {"recursion_limit": 7}})
    assert kernel.builtin_names
    assert "middleware.audit" in kernel.records
    assert "model.offline" not in kernel.records
    assert make_kernel().builtin_names == kernel.builtin_names | {"model.offline"}


def test_a_kernel_without_built_ins(make_kernel):
    assert list(make_kernel(audit(), builtins=BuiltinTable()).records) == ["middleware.audit"]


def test_a_kernel_takes_what_a_kernel_takes(make_kernel):
    with pytest.raises(PluginError, match=r"middleware\.adit"):
        make_kernel(audit(), disable=["middleware.adit"])


def test_recorders_are_plugins(make_kernel, hook_recorder):
    recorder = hook_recorder()
    assert isinstance(recorder, HookRecorder)
    make_kernel(("bundle.recorder", recorder), hook_recorder())
    assert "deepagents_configure" in recorder.names()
    with pytest.raises(PluginError, match="no hook deepagents_nothing"):
        make_kernel(hook_recorder(extra={"deepagents_nothing": ()}))


def run(pytester, *arguments, **files):
    """A run of its own: one in this process would leave modules behind that were imported twice."""
    pytester.makepyfile(**files)
    plugins = ["-p", MODULE, "-p", "no:cacheprovider", "-p", "no:asyncio"]
    return pytester.runpytest_subprocess(*plugins, *arguments)


def test_kernels_are_closed_when_the_test_ends_last_one_first(pytester):
    result = run(
        pytester,
        test_it="""
        from types import SimpleNamespace
        from deepagents_kernel import PluginInfo, hookimpl

        closed = []

        def plugin(word):
            close = hookimpl(specname="deepagents_unconfigure")(lambda: closed.append(word))
            return SimpleNamespace(PLUGIN=PluginInfo(name="bundle.closing"), close=close)

        def test_one(make_kernel):
            make_kernel(plugin("first"))
            make_kernel(plugin("second"))
            assert closed == []

        def test_two():
            assert closed == ["second", "first"]
        """,
    )
    result.assert_outcomes(passed=2)


PLANS = """
    import pytest
    from deepagents_kernel import make_request
    from deepagents_kernel.testing import ScriptedChatModel, assert_stack

    @pytest.fixture
    def plans(make_kernel):
        kernel = make_kernel()
        made = lambda **given: kernel.plan(make_request(ScriptedChatModel(["done"]), **given))
        return made(), made(system_prompt="Be brief."), made()
"""


def test_plans_that_are_compared_are_shown_as_what_differs(pytester):
    result = run(
        pytester,
        test_it=PLANS
        + """
    def test_plans(plans):
        assert plans[0] == plans[1]

    def test_a_plan_and_a_document(plans):
        assert plans[1].to_dict() == plans[0]

    def test_documents(plans):
        assert plans[0].to_dict() == plans[1].to_dict()

    def test_same_parts(plans):
        assert plans[0] == plans[2]
    """,
    )
    result.assert_outcomes(failed=4)
    shown = [line.strip() for line in result.outlines]
    assert shown.count("E       assert two plans; from left to right:") == 3
    assert shown.count("E         main: prompt changed (0 -> 9 characters)") == 2
    assert shown.count("E         main: prompt changed (9 -> 0 characters)") == 1
    result.stdout.fnmatch_lines(["*a plan equals only itself: compare with assert_same_plan"])
    assert "AgentPlan(" not in "\n".join(line for line in shown if line.startswith("E"))


def test_what_is_no_plan_is_left_to_pytest(pytester):
    result = run(
        pytester,
        test_it=PLANS
        + """
    def test_dicts():
        assert {"format": 1} == {"format": 2}

    def test_damaged(plans):
        assert {**plans[0].to_dict(), "main": None} == plans[1].to_dict()

    def test_another_format(plans):
        assert {**plans[0].to_dict(), "format": 7} == plans[0].to_dict()

    def test_words_for_a_reader(plans):
        assert {**plans[0].to_dict(), "warnings": ["x"]} == plans[0].to_dict()

    def test_other_comparisons(plans):
        assert plans[0] in [plans[1]]
    """,
    )
    result.assert_outcomes(failed=5)
    assert "two plans" not in result.stdout.str()
    result.stdout.fnmatch_lines(["*{'format': 1} != {'format': 2}*", "*{'format': 7} != {'format': 1}*"])


def test_the_traceback_of_an_assertion_ends_in_the_test(pytester):
    result = run(
        pytester,
        test_it=PLANS
        + """
    def test_order(plans):
        assert_stack(plans[0], "main", ["Audit"])

    def test_no_such_stack(plans):
        assert_stack(plans[0], "nowhere", ["Audit"])
    """,
    )
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["E*AssertionError: the middleware of stack 'main' are not*", "E*- Audit"])
    assert "plans.py:" not in result.stdout.str()


def test_every_fixture_is_documented(pytester):
    result = run(pytester, "--fixtures", test_it="def test_nothing(): ...")
    for name in ("make_kernel", "hook_recorder", "plugin_environment", "plugin_environment_factory"):
        (place,) = [place for place, line in enumerate(result.outlines) if line.partition(" ")[0] == name]
        assert "pytest_plugin.py:" in result.outlines[place]
        assert result.outlines[place + 1].startswith(("    Make ", "    The same"))


def test_the_page_about_testing_is_a_test_module_that_passes(pytester):
    blocks = [block for _, block in code_blocks(read("docs/testing.md"), "python")]
    result = run(pytester, test_page="\n".join(blocks))
    result.assert_outcomes(passed="".join(blocks).count("\ndef test_"))


def test_naming_the_plugin_twice_is_no_clash(pytester):
    """As an installed entry point and in ``pytest_plugins``: both go by the name of the module."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {MODULE: MODULE}
    body = f"pytest_plugins = [{MODULE!r}]\ndef test_it(make_kernel): ..."
    run(pytester, conftest=f"pytest_plugins = [{MODULE!r}]", test_it=body).assert_outcomes(passed=1)


def python(code):
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    return json.loads(done.stdout)


def test_loading_it_imports_nothing_but_the_door():
    code = (
        "import json, sys, pytest; before = set(sys.modules); "
        f"import {MODULE}; print(json.dumps(sorted(set(sys.modules) - before)))"
    )
    assert python(code) == [
        "deepagents_kernel",
        "deepagents_kernel._lazy",
        "deepagents_kernel._version",
        "deepagents_kernel.testing",
        MODULE,
    ]


def test_what_tests_of_installed_plugins_use_imports_no_framework():
    code = (
        "import json, sys; from deepagents_kernel.testing import Distribution, PluginEnvironment; "
        "print(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    )
    loaded = set(python(code))
    assert "deepagents_kernel" in loaded
    assert loaded.isdisjoint({"langchain", "langchain_core", "langgraph", "pluggy", "structlog", "pydantic"})


def test_every_name_of_the_door_can_be_had():
    assert "assert_stack" in door.__all__
    for name in door.__all__:
        assert getattr(door, name).__name__ == name
