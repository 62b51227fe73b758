"""What is deprecated, how it is said, and the version that traces name."""

from __future__ import annotations

import asyncio
import functools
import importlib.metadata
import json
import logging
import subprocess
import sys
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tiny
from attrs import evolve

from deepagents_kernel import (
    HarnessProfile,
    Kernel,
    create_deep_agent,
    deprecations,
    make_request,
    trace_version,
)
from deepagents_kernel import __version__ as VERSION
from deepagents_kernel._builtin import load_table
from deepagents_kernel.current import use_kernel
from deepagents_kernel.deprecations import (
    DEPRECATIONS,
    LangChainDeprecationWarning,
    deprecated,
    reset_deprecation_dedupe,
    suppress_langchain_deprecation_warning,
    warn_deprecated,
)
from deepagents_kernel.errors import MissingExportError, ModelPackageError, ModelTypeError
from deepagents_kernel.models import get_default_model
from deepagents_kernel.profiles.lookup import harness_for_model
from deepagents_kernel.testing import ScriptedChatModel


@pytest.fixture
def caught():
    """Every warning of the test."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        yield found


def line() -> int:
    """The line of the caller."""
    return sys._getframe(1).f_lineno


# ---- warn_deprecated


def function_that_warns(**options: Any) -> None:
    warn_deprecated("0.1.0", name="old", alternative="new", removal="1.0.0", **options)


@pytest.mark.spec("DEP-004")
def test_a_warning_names_the_callers_line_each_time(caught: Any) -> None:
    for _ in range(3):
        function_that_warns()
        here = line() - 1
    assert [(item.filename, item.lineno) for item in caught] == [(__file__, here)] * 3
    assert {item.category for item in caught} == {LangChainDeprecationWarning}
    assert issubclass(LangChainDeprecationWarning, DeprecationWarning)
    text = str(caught[0].message)
    assert (
        text == "old is deprecated since deepagents-kernel 0.1.0 and will be removed in 1.0.0; instead: new"
    )
    caught.clear()
    function_that_warns(stacklevel=1)
    assert caught[0].lineno == function_that_warns.__code__.co_firstlineno + 1


@pytest.mark.spec("DEP-004")
@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"message": "said so", "addendum": "See there."}, "said so See there."),
        ({"name": "f", "obj_type": "function"}, "the function f is deprecated since deepagents-kernel 0.1.0"),
        ({"name": "f", "package": "acme"}, "f is deprecated since acme 0.1.0"),
        (
            {"name": "f", "alternative_import": "a.b.c"},
            "f is deprecated since deepagents-kernel 0.1.0; instead: a.b.c",
        ),
    ],
)
def test_the_text_of_a_warning(caught: Any, options: dict[str, str], text: str) -> None:
    warn_deprecated("0.1.0", **options)
    assert str(caught[0].message) == text


@pytest.mark.spec("DEP-006")
def test_a_pending_one_has_a_class_of_its_own_and_may_name_its_removal(caught: Any) -> None:
    warn_deprecated("0.9.0", name="old", pending=True, removal="1.0.0")
    assert caught[0].category.__name__ == "LangChainPendingDeprecationWarning"
    assert issubclass(caught[0].category, PendingDeprecationWarning)
    expected = "old is going to be deprecated in deepagents-kernel 0.9.0 and will be removed in 1.0.0"
    assert str(caught[0].message) == expected


@pytest.mark.spec("DEP-007")
def test_nothing_is_said_under_the_suppressing_context(caught: Any) -> None:
    with suppress_langchain_deprecation_warning():
        function_that_warns()
        assert deprecations.BASE_AGENT_PROMPT
    assert caught == []
    function_that_warns()
    assert len(caught) == 1


# ---- deprecated


@deprecated("0.1.0", removal="1.0.0")
def old(value: int) -> int:
    """Old."""
    return value


@deprecated("0.1.0", name="aged()")
async def aged() -> str:
    return "aged"


class Thing:
    @deprecated("0.1.0")
    def method(self) -> str:
        return "m"

    @deprecated("0.1.0")
    @property
    def value(self) -> str:
        """Value."""
        return "v"

    @value.setter
    def value(self, value: str) -> None:
        self.set = value

    @deprecated("0.1.0")
    @staticmethod
    def static() -> str:
        return "s"

    @deprecated("0.1.0")
    @classmethod
    def of(cls) -> type:
        return cls


@pytest.fixture(autouse=True)
def _fresh() -> None:
    reset_deprecation_dedupe(old, aged, get_default_model, *vars(Thing).values())


@pytest.mark.spec("DEP-005")
def test_a_marked_function_warns_once_at_its_callers_line(caught: Any) -> None:
    assert [old(1), old(2)] == [1, 2]
    here = line() - 1
    [warning] = caught
    assert (warning.filename, warning.lineno) == (__file__, here)
    assert str(warning.message).startswith(
        "old() is deprecated since deepagents-kernel 0.1.0 and will be removed"
    )
    assert (old.__name__, old.__doc__) == ("old", "Old.")


@pytest.mark.spec("DEP-005")
def test_once_is_once_for_all_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(deprecations, "warn_deprecated", lambda *_, name, **__: said.append(name))
    start = threading.Barrier(16)

    def use(_: int) -> int:
        start.wait()
        return old(1)

    with ThreadPoolExecutor(16) as pool:
        assert sum(pool.map(use, range(16))) == 16
    assert said == ["old()"]


@pytest.mark.spec("DEP-005")
def test_a_marked_coroutine_function_stays_one(caught: Any) -> None:
    async def use() -> list[str]:
        return [await aged(), await aged()]

    assert asyncio.run(use()) == ["aged", "aged"]
    assert asyncio.iscoroutinefunction(aged)
    [warning] = caught
    assert (warning.filename, warning.lineno) == (__file__, use.__code__.co_firstlineno + 1)


@pytest.mark.spec("DEP-005", "DEP-008")
def test_methods_and_properties_can_be_marked_and_reset(caught: Any) -> None:
    thing = Thing()
    for _ in range(2):
        assert (thing.method(), thing.value, Thing.static(), Thing.of()) == ("m", "v", "s", Thing)
        thing.value = "x"
    assert thing.set == "x"
    assert Thing.value.__doc__ == "Value."
    assert {item.filename for item in caught} == {__file__}
    assert sorted(str(item.message).partition("(")[0] for item in caught) == [
        "Thing.method",
        "Thing.of",
        "Thing.static",
        "Thing.value",
    ]
    caught.clear()
    reset_deprecation_dedupe(thing.method, Thing.value, Thing.static, Thing.of)
    assert (thing.method(), thing.value, Thing.static(), Thing.of()) == ("m", "v", "s", Thing)
    assert len(caught) == 4


@pytest.mark.spec("DEP-008")
def test_reset_passes_over_anything_else(caught: Any) -> None:
    old(1)
    reset_deprecation_dedupe(3, None, "old", len, Thing, functools.partial(len), SimpleNamespace())
    reset_deprecation_dedupe()
    old(1)
    assert len(caught) == 1
    reset_deprecation_dedupe(old)
    old(1)
    assert len(caught) == 2


@pytest.mark.parametrize("target", [Thing, 3, None, len])
def test_what_is_no_function_is_not_marked(target: Any) -> None:
    with pytest.raises(TypeError, match="functions, methods and properties"):
        deprecated("0.1.0")(target)


# ---- an agent without a model


@pytest.fixture
def house() -> Kernel:
    """A kernel whose default model plays one turn."""
    answers = tiny.plugin(
        deepagents_resolve_model=lambda spec: ScriptedChatModel([spec], provider="acme", model_name=spec[5:])
    )
    table = evolve(tiny.table({"model.acme": answers}), default_model="acme:default")
    kernel = Kernel(builtins=table)
    kernel.profiles.register_harness("acme:default", HarnessProfile(system_prompt_suffix="S"))
    return kernel


@pytest.mark.spec("MOD-003")
@pytest.mark.parametrize("way", ["function", "kernel", "plan"])
def test_no_model_is_the_default_one_and_a_warning_at_the_callers_line(
    caught: Any, house: Kernel, way: str
) -> None:
    build = {
        "function": lambda: create_deep_agent(kernel=house),
        "kernel": house.create_deep_agent,
        "plan": lambda: house.plan(make_request()),
    }[way]
    lines = {build.__code__.co_firstlineno} if way != "kernel" else set()
    for _ in range(2):
        build()
        lines |= {line() - 1} if way == "kernel" else set()
    assert [item.category for item in caught] == [LangChainDeprecationWarning] * 2
    assert {(item.filename, item.lineno) for item in caught} == {(__file__, found) for found in lines}
    text = str(caught[0].message)
    for fact in ("create_deep_agent() without model=", "0.1.0", "removed in 1.0.0", "'acme:default'"):
        assert fact in text


@pytest.mark.spec("MOD-003", "MOD-005")
def test_the_default_model_is_resolved_like_any_string(caught: Any, house: Kernel) -> None:
    plan = house.plan(make_request())
    context = plan.main.context
    assert context.model_spec == "acme:default"
    assert context.request.model is None
    assert context.profile.layers == ("acme:default",)
    assert plan.main.prompt == "S"
    assert harness_for_model(house.profiles, context.model) is context.profile
    assert house.compile(plan).invoke({"messages": "hi"})["messages"][-1].text == "acme:default"


@pytest.mark.spec("MOD-004", "DEP-009")
def test_the_warning_of_get_default_model_is_one_of_its_own(caught: Any, house: Kernel) -> None:
    house.plan(make_request())
    with use_kernel(house):
        models = [get_default_model(), get_default_model()]
        here = line() - 1
    house.plan(make_request())
    assert [model.model_name for model in models] == ["default", "default"]
    texts = [str(item.message).partition(" is deprecated")[0] for item in caught]
    assert texts == [
        "create_deep_agent() without model=",
        "get_default_model()",
        "create_deep_agent() without model=",
    ]
    assert (caught[1].filename, caught[1].lineno) == (__file__, here)


@pytest.mark.spec("MOD-003")
def test_a_model_that_is_given_is_no_reason_to_warn(caught: Any, house: Kernel) -> None:
    create_deep_agent(ScriptedChatModel(["x"]), kernel=house)
    create_deep_agent("acme:other", kernel=house)
    assert caught == []


@pytest.mark.spec("MOD-003", "MOD-008")
def test_without_a_default_no_model_is_an_error(caught: Any) -> None:
    with pytest.raises(ModelTypeError, match="no model was given"):
        tiny.kernel().create_deep_agent()
    with use_kernel(tiny.kernel()), pytest.raises(ModelTypeError, match="no default model"):
        get_default_model()
    assert [str(item.message)[:19] for item in caught] == ["get_default_model()"]


@pytest.mark.spec("MOD-003", "MOD-005")
def test_the_default_model_of_the_built_ins_needs_no_key(
    caught: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    kernel = Kernel(builtins=evolve(load_table(), default_model="anthropic:claude-sonnet-4-6"))
    plan = kernel.plan(make_request())
    model = plan.main.context.model
    assert (type(model).__name__, model.model) == ("ChatAnthropic", "claude-sonnet-4-6")
    assert plan.main.context.profile is harness_for_model(kernel.profiles, model)
    assert len(caught) == 1


@pytest.mark.spec("MOD-003")
def test_a_default_model_whose_package_is_missing_says_how_to_install_it(
    caught: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "langchain_groq", None)
    kernel = Kernel(builtins=evolve(load_table(), default_model="groq:m"))
    with pytest.raises(ModelPackageError, match="pip install langchain-groq"):
        kernel.create_deep_agent()
    assert (caught[0].category, caught[0].filename) == (LangChainDeprecationWarning, __file__)


# ---- the base prompt, and the module itself


@pytest.mark.spec("DEP-009")
def test_the_base_prompt_warns_at_each_use(caught: Any) -> None:
    text = deprecations.BASE_AGENT_PROMPT
    first = line() - 1
    from deepagents_kernel.deprecations import BASE_AGENT_PROMPT

    assert text == BASE_AGENT_PROMPT
    assert text.strip()
    assert [(item.filename, item.lineno) for item in caught] == [(__file__, first), (__file__, first + 2)]
    assert {item.category for item in caught} == {LangChainDeprecationWarning}
    assert "system_prompt=" in str(caught[0].message)
    with pytest.raises(AttributeError, match=r"deepagents_kernel\.deprecations.*BASE_PROMPTS"):
        deprecations.BASE_PROMPTS  # noqa: B018  # the access is what is tested
    with pytest.raises(MissingExportError, match="nearest: deprecated"):
        deprecations.deprecatd  # noqa: B018


@pytest.mark.spec("DEP-009")
def test_every_row_names_its_versions_and_a_way_out() -> None:
    for row in DEPRECATIONS:
        since, removal = (tuple(map(int, version.split("."))) for version in (row.since, row.removal))
        assert since < removal
        assert row.name
        assert row.alternative
        assert removal > tuple(map(int, VERSION.split(".")[:3])), f"{row.name} should be gone by now"


def test_the_module_costs_no_langchain_until_something_is_deprecated() -> None:
    code = (
        "import sys, deepagents_kernel.deprecations as d, deepagents_kernel.models\n"
        "import deepagents_kernel.trace_version\n"
        "print([name for name in sys.modules if name.startswith(('langchain', 'packaging'))])\n"
        "d.LangChainDeprecationWarning\n"
        "print('langchain_core' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.split() == ["[]", "True"]


# ---- the version that traces name


def record(folder: Path, direct_url: Any, name: str = "deepagents-kernel") -> None:
    info = folder / f"{name.replace('-', '_')}-9.9.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 9.9\n", encoding="utf-8")
    if direct_url is not None:
        text = direct_url if isinstance(direct_url, str) else json.dumps(direct_url)
        (info / "direct_url.json").write_text(text, encoding="utf-8")


def editable(root: Path) -> dict[str, Any]:
    return {"url": root.as_uri(), "dir_info": {"editable": True}}


ROOT = Path(trace_version.__file__).parents[2]


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Make records of the distribution, each in a folder of the path; no other is there."""
    # Whatever the machine that runs the tests has installed must not count.
    folders: list[str] = []
    real = importlib.metadata.distributions
    monkeypatch.setattr(importlib.metadata, "distributions", lambda **options: real(path=folders, **options))

    def make(*urls: Any, name: str = "deepagents-kernel") -> None:
        for url in urls:
            folders.append(str(tmp_path / f"site{len(folders)}"))
            record(Path(folders[-1]), url, name)

    trace_version.trace_version.cache_clear()
    yield make
    trace_version.trace_version.cache_clear()


@pytest.mark.spec("DEP-001")
def test_an_editable_install_is_marked(installed: Any) -> None:
    installed(None, {"url": "https://example.org/x.whl"}, editable(ROOT))
    assert trace_version.trace_version() == f"{VERSION}+editable"


@pytest.mark.spec("DEP-001")
@pytest.mark.parametrize(
    "url",
    [
        None,
        editable(ROOT / "docs"),
        {"url": ROOT.as_uri(), "dir_info": {}},
        {"url": ROOT.as_uri(), "dir_info": {"editable": "yes"}},
    ],
)
def test_any_other_install_is_not(installed: Any, url: Any) -> None:
    installed(url)
    assert trace_version.trace_version() == VERSION


@pytest.mark.spec("DEP-001")
def test_a_record_of_another_distribution_does_not_count(installed: Any) -> None:
    installed(editable(ROOT), name="deepagents-kernel-extras")
    assert trace_version.trace_version() == VERSION


@pytest.mark.spec("DEP-001")
def test_it_is_found_out_once_a_process(installed: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    monkeypatch.setattr(trace_version, "is_editable", lambda: asked.append(1) or True)
    assert [trace_version.trace_version() for _ in range(3)] == [f"{VERSION}+editable"] * 3
    assert asked == [1]


@pytest.mark.spec("DEP-001")
def test_traces_name_it(installed: Any) -> None:
    installed(editable(ROOT))
    graph = tiny.kernel().create_deep_agent(ScriptedChatModel(["x"]))
    assert graph.config["metadata"]["lc_versions"] == {"deepagents-kernel": f"{VERSION}+editable"}


@pytest.mark.spec("DEP-002")
@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.0", "1.0+editable"),
        ("1.0+build", "1.0+build.editable"),
        ("1.0.0-alpha1", "1.0.0a1+editable"),
        ("v1.0-rc.1+Linux-x", "1.0rc1+linux.x.editable"),
        ("1!1.0.post2.dev3", "1!1.0.post2.dev3+editable"),
        ("unknown", "unknown"),
        ("", ""),
    ],
)
def test_the_local_segment(version: str, expected: str) -> None:
    assert trace_version.with_local(version, "editable") == expected


@pytest.mark.spec("DEP-003")
@pytest.mark.parametrize("url", ["{", "3", "[]", '{"dir_info": {"editable": true}}', '{"dir_info": 3}', ""])
def test_a_broken_record_is_logged_and_hides_no_other(
    installed: Any, url: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, logger="deepagents_kernel")
    installed(url)
    assert trace_version.trace_version() == VERSION
    assert all(item.levelno == logging.DEBUG and item.exc_info for item in caplog.records)
    assert len(caplog.records) == (url != "")
    installed(editable(ROOT))
    trace_version.trace_version.cache_clear()
    assert trace_version.trace_version() == f"{VERSION}+editable"


@pytest.mark.spec("DEP-003")
def test_broken_metadata_never_fails(installed: Any, monkeypatch: pytest.MonkeyPatch, caplog: Any) -> None:
    def broken(**_: Any) -> Any:
        raise OSError("disk")

    caplog.set_level(logging.DEBUG, logger="deepagents_kernel")
    monkeypatch.setattr(importlib.metadata, "distributions", broken)
    assert trace_version.trace_version() == VERSION
    assert [(item.levelno, item.event) for item in caplog.records] == [
        (logging.DEBUG, "trace_version_unknown")
    ]
