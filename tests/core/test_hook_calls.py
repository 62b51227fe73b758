"""Every record and every error knows its plugin, and each kind of hook has its rule for failure."""

from __future__ import annotations

import logging
import threading

import pytest
import tiny
from langchain_core.tools import tool

from deepagents_kernel import Kernel, PlanError, Problem, hookimpl, hookspec, make_request
from deepagents_kernel.assembly.context import Contribution
from deepagents_kernel.errors import DeepAgentsError, HookError, PluginError, SettingsError
from deepagents_kernel.testing import ScriptedChatModel


@tool
def look(place: str) -> str:
    """Look at a place."""
    return place


def collected(value):
    kernel = tiny.kernel({"middleware.a": tiny.plugin(deepagents_tools=lambda: value)})
    return [item.value for item in kernel.calls.collect("deepagents_tools", {"context": None})]


# -- records -------------------------------------------------------------------------------------


def test_every_record_knows_its_plugin():
    plugins = {
        "middleware.b": tiny.plugin(deepagents_tools=lambda: ["one", "two"]),
        "bundle.a": tiny.plugin(deepagents_tools=lambda: "three"),
        "middleware.c": tiny.plugin(deepagents_tools=lambda: None),
    }
    assert tiny.kernel(plugins).hooks("deepagents_tools", context=None) == (
        Contribution("bundle.a", "three"),
        Contribution("middleware.b", "one"),
        Contribution("middleware.b", "two"),
    )


@pytest.mark.parametrize(
    "record", [{"type": "web_search"}, look, "text", b"bytes", 0, False, object(), lambda: None]
)
def test_what_is_not_a_collection_is_one_record(record):
    assert collected(record) == [record]


@pytest.mark.parametrize(
    "records",
    [
        ["a", "b"],
        ("a", "b"),
        {"a": 1, "b": 2}.keys(),
        {1: "a", 2: "b"}.values(),
        iter("ab"),
        ["a", None, "b"],
    ],
    ids=["list", "tuple", "keys", "values", "iterator", "with None"],
)
def test_a_collection_is_its_records(records):
    assert collected(records) == ["a", "b"]


@pytest.mark.parametrize("nothing", [None, [], (), iter(()), [None]])
def test_nothing_is_no_record(nothing):
    assert collected(nothing) == []


def test_a_generator_is_consumed_inside_the_guard():
    def deepagents_tools(context):
        yield look
        raise LookupError("half-way")

    kernel = tiny.kernel({"middleware.late": tiny.plugin(deepagents_tools=deepagents_tools)})
    with pytest.raises(HookError) as caught:
        kernel.calls.collect("deepagents_tools", {"context": None}, at="main/scout")
    error = caught.value
    assert (error.plugin, error.hook, error.stack) == ("middleware.late", "deepagents_tools", "main/scout")
    assert isinstance(error.__cause__, LookupError)


# -- errors --------------------------------------------------------------------------------------


def raising(error):
    def deepagents_tools(context):
        raise error

    return tiny.kernel({"middleware.bad": tiny.plugin(deepagents_tools=deepagents_tools)})


def test_an_exception_names_plugin_hook_and_stack_and_keeps_its_cause():
    cause = KeyError("nope")
    with pytest.raises(HookError) as caught:
        raising(cause).plan(tiny.request())
    error = caught.value
    assert (error.plugin, error.hook, error.stack) == ("middleware.bad", "deepagents_tools", "main")
    assert "KeyError: 'nope'" in error.reason
    assert error.__cause__ is cause
    for fact in ("middleware.bad", "deepagents_tools", "'main'", "nope"):
        assert fact in str(error)


@pytest.mark.parametrize("signal", [KeyboardInterrupt(), SystemExit(3), GeneratorExit()])
def test_what_is_not_an_error_passes_untouched(signal):
    with pytest.raises(type(signal)) as caught:
        raising(signal).plan(tiny.request())
    assert caught.value is signal


def test_a_problem_that_a_hook_raises_gets_its_stack_and_plugin():
    with pytest.raises(PlanError) as caught:
        raising(PlanError(Problem("too small", hint="make it bigger"))).plan(tiny.request())
    [problem] = caught.value.problems
    assert (problem.text, problem.stack, problem.plugin) == ("too small", "main", "middleware.bad")
    for fact in ("too small", "main", "middleware.bad", "make it bigger"):
        assert fact in str(caught.value)


def test_an_error_of_the_kernels_own_kind_passes_with_a_note():
    with pytest.raises(SettingsError) as caught:
        raising(SettingsError("middleware.x.y", "a file", "no")).plan(tiny.request())
    [note] = caught.value.__notes__
    for fact in ("middleware.bad", "deepagents_tools", "main"):
        assert fact in note


def test_the_next_plugin_is_not_asked_after_an_exception():
    asked = []
    plugins = {
        "middleware.a": tiny.plugin(deepagents_tools=lambda: 1 / 0),
        "middleware.b": tiny.plugin(deepagents_tools=lambda: asked.append("b")),
    }
    with pytest.raises(HookError, match="ZeroDivisionError"):
        tiny.kernel(plugins).hooks("deepagents_tools", context=None)
    assert asked == []


def test_a_caller_that_leaves_an_argument_out_is_told_which():
    with pytest.raises(HookError, match="'context'"):
        raising(ValueError()).hooks("deepagents_tools")


# -- resolve -------------------------------------------------------------------------------------


def resolving(answer, **options):
    class Resolves:
        @hookimpl(**options)
        def deepagents_resolve_backend(self, spec):
            asked.append(answer)
            return answer if spec == "all" or spec == answer else None

    return Resolves()


asked: list[str] = []


def test_third_parties_answer_before_builtins():
    asked.clear()
    kernel = tiny.kernel({"backend.z": resolving("third")}, builtins={"backend.a": resolving("built-in")})
    answer = kernel.calls.first("deepagents_resolve_backend", {"spec": "all", "kernel": kernel})
    assert answer == Contribution("backend.z", "third")
    assert asked == ["third"]
    answer = kernel.calls.first("deepagents_resolve_backend", {"spec": "built-in", "kernel": kernel})
    assert answer == Contribution("backend.a", "built-in")
    assert kernel.calls.first("deepagents_resolve_backend", {"spec": "none", "kernel": kernel}) is None


def test_the_order_of_answers_can_be_asked_for():
    kernel = tiny.kernel(
        {
            "backend.a": resolving("last", trylast=True),
            "backend.b": resolving("b"),
            "backend.c": resolving("c"),
        },
        builtins={
            "backend.x": resolving("built-in first", tryfirst=True),
            "backend.y": resolving("built-in"),
        },
    )
    asked.clear()
    kernel.hooks("deepagents_resolve_backend", spec="nothing", kernel=kernel)
    assert asked == ["built-in first", "b", "c", "built-in", "last"]
    assert kernel.calls.providers("deepagents_resolve_backend") == (
        "backend.x", "backend.b", "backend.c", "backend.y", "backend.a",
    )  # fmt: skip


def test_collecting_asks_builtins_first():
    plugins = {"middleware.a": tiny.plugin(deepagents_tools=lambda: "third")}
    kernel = tiny.kernel(plugins, builtins={"middleware.z": tiny.plugin(deepagents_tools=lambda: "built-in")})
    assert [item.value for item in kernel.hooks("deepagents_tools", context=None)] == ["built-in", "third"]


def test_a_false_answer_is_an_answer():
    kernel = tiny.kernel(
        {
            "backend.a": tiny.plugin(deepagents_resolve_backend=lambda: 0),
            "backend.b": tiny.plugin(deepagents_resolve_backend=lambda: 1),
        }
    )
    [answer] = kernel.hooks("deepagents_resolve_backend", spec="x", kernel=kernel)
    assert answer == Contribution("backend.a", 0)


# -- observe -------------------------------------------------------------------------------------


def test_an_observer_that_raises_is_logged_and_the_next_one_is_told(caplog):
    told = []
    plugins = {
        "bundle.a": tiny.plugin(deepagents_agent_compiled=lambda plan: 1 / 0),
        "bundle.b": tiny.plugin(deepagents_agent_compiled=lambda graph, plan: told.append((graph, plan))),
    }
    kernel = tiny.kernel(plugins)
    plan = kernel.plan(tiny.request())
    with caplog.at_level(logging.ERROR, logger="deepagents_kernel"):
        graph = kernel.compile(plan)
    assert told == [(graph, plan)]
    [record] = caplog.records
    assert record.event == "hook_failed"
    assert record.fields["plugin"] == "bundle.a"
    assert record.fields["hook"] == "deepagents_agent_compiled"
    assert "ZeroDivisionError" in record.fields["error"]
    assert record.exc_info is not None


def test_closing_tells_the_last_plugin_first_and_all_of_them():
    told = []

    def closing(name):
        def deepagents_unconfigure(kernel):
            told.append(name)
            raise RuntimeError(name)

        return tiny.plugin(deepagents_unconfigure=deepagents_unconfigure)

    tiny.kernel({f"bundle.{name}": closing(name) for name in "bca"}).close()
    assert told == ["c", "b", "a"]


def test_a_kernel_whose_plugin_fails_to_configure_is_not_made():
    with pytest.raises(HookError) as caught:
        tiny.kernel({"bundle.a": tiny.plugin(deepagents_configure=lambda kernel: 1 / 0)})
    assert (caught.value.plugin, caught.value.hook) == ("bundle.a", "deepagents_configure")


# -- hooks that plugins declare --------------------------------------------------------------------


class EchoHooks:
    @hookspec
    def deepagents_echo(self, word):
        """Say it again."""

    @hookspec(firstresult=True)
    def deepagents_pick(self, word):
        """Choose."""


def declaring(told):
    def deepagents_addhooks(pluginmanager):
        pluginmanager.add_hookspecs(EchoHooks)

    def deepagents_middleware(context):
        told.append(context.hooks("deepagents_echo", word=context.name))
        told.append(context.hooks("deepagents_pick", word=context.name))

    return tiny.plugin(deepagents_addhooks=deepagents_addhooks, deepagents_middleware=deepagents_middleware)


def test_a_context_calls_the_hooks_that_plugins_declare():
    told = []
    plugins = {
        "bundle.declares": declaring(told),
        "middleware.one": tiny.plugin(
            deepagents_echo=lambda word: word.upper(), deepagents_pick=lambda word: 1
        ),
        "middleware.two": tiny.plugin(deepagents_echo=lambda: ["x", "y"], deepagents_pick=lambda word: 2),
    }
    tiny.kernel(plugins).plan(tiny.request())
    assert told == [
        (
            Contribution("middleware.one", "MAIN"),
            Contribution("middleware.two", "x"),
            Contribution("middleware.two", "y"),
        ),
        (Contribution("middleware.one", 1),),
    ]


def test_a_hook_called_through_a_context_names_the_stack_when_it_fails():
    plugins = {
        "bundle.declares": declaring([]),
        "bundle.children": tiny.children(),
        "middleware.one": tiny.plugin(deepagents_echo=lambda word: {"main": 1}[word]),
    }
    with pytest.raises(HookError) as caught:
        tiny.kernel(plugins).plan(tiny.request())
    error = caught.value
    assert (error.plugin, error.hook, error.stack) == (
        "middleware.one", "deepagents_echo", "main/general-purpose",
    )  # fmt: skip


def test_two_kernels_do_not_share_declared_hooks():
    kernel = tiny.kernel({"bundle.declares": declaring([])})
    assert {"deepagents_echo", "deepagents_pick"} <= set(kernel.calls.declared())
    assert "deepagents_echo" not in tiny.kernel().calls.declared()


def test_an_unknown_hook_is_an_error_with_the_nearest():
    kernel = tiny.kernel()
    for call in (kernel.calls, kernel.calls.collect, kernel.calls.first, kernel.calls.observe):
        with pytest.raises(PluginError) as caught:
            call("deepagents_tool", {"context": None})
        assert "'deepagents_tool'" in str(caught.value)
        assert "deepagents_tools" in caught.value.hint


def test_hooks_may_be_called_by_many_threads():
    kernel = tiny.kernel(
        {f"bundle.p{number}": tiny.plugin(deepagents_tools=lambda: "x") for number in range(9)}
    )
    barrier = threading.Barrier(8)
    seen = []

    def ask():
        barrier.wait()
        seen.append(len(kernel.hooks("deepagents_tools", context=None)))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [9] * 8


def test_every_kernel_error_has_one_root():
    assert issubclass(HookError, PluginError)
    assert issubclass(PluginError, DeepAgentsError)
    assert not issubclass(PluginError, PlanError)


def test_a_hook_may_call_its_arguments_what_it_likes():
    class Specs:
        @hookspec
        def deepagents_review(self, hook, at, problems, arguments, newest_first):
            """Takes names that the kernel uses itself."""

    class Owner:
        @hookimpl
        def deepagents_addhooks(self, pluginmanager):
            pluginmanager.add_hookspecs(Specs)

    class Reviewer:
        @hookimpl
        def deepagents_review(self, hook, at, problems, arguments, newest_first):
            return f"{hook}{at}{problems}{arguments}{newest_first}"

    kernel = Kernel({"bundle.owner": Owner(), "bundle.reviewer": Reviewer()})
    given = {"hook": 1, "at": 2, "problems": 3, "arguments": 4, "newest_first": 5}
    assert [item.value for item in kernel.hooks("deepagents_review", **given)] == ["12345"]
    seen = []

    class Asker:
        @hookimpl
        def deepagents_tools(self, context):
            seen.extend(item.value for item in context.hooks("deepagents_review", **given))

    kernel = Kernel({"bundle.owner": Owner(), "bundle.reviewer": Reviewer(), "bundle.asker": Asker()})
    kernel.plan(make_request(ScriptedChatModel(["done"])))
    assert set(seen) == {"12345"}
