"""Settings of plugins: where they come from, what they may be, and that they reach every stack."""

from __future__ import annotations

import enum
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import pytest
import tiny
from attrs import field, frozen, validators
from langchain_core.runnables import RunnableConfig

from deepagents_kernel import PluginInfo, create_deep_agent
from deepagents_kernel.assembly.compile import KernelSettings
from deepagents_kernel.errors import BackendSpecError, PluginError, SettingsError
from deepagents_kernel.plugins.settings import structure
from deepagents_kernel.testing import ScriptedChatModel
from deepagents_kernel.trace_version import trace_version


class Colour(enum.StrEnum):
    RED = "red"


@frozen
class Inner:
    size: int = 1


@frozen
class Limits:
    depth: int = field(default=1, validator=validators.ge(1))
    low: int = 0
    high: int = field(default=10)
    ratio: float = 0.5
    strict: bool = False
    label: str = ""
    maybe: str | None = "set"
    either: int | str = 0
    names: tuple[str, ...] = ()
    pair: tuple[int, str] = (0, "")
    words: Sequence[str] = ()
    table: Mapping[str, int] = field(factory=dict)
    mode: Literal["fast", "slow"] = "fast"
    colour: Colour = Colour.RED
    inner: Inner = Inner()
    inners: list[Inner] = field(factory=list)
    function: Callable[[str], str] | None = None

    @high.validator
    def _ordered(self, _attribute, value):
        if value < self.low:
            raise ValueError("high is below low")


def recorder(seen, cls=Limits):
    def deepagents_middleware(context):
        seen[context.path] = context.settings(cls)

    return tiny.plugin(PluginInfo(settings=cls), deepagents_middleware=deepagents_middleware)


def settings_of(values=None, *, kernel_values=None):
    seen = {}
    kernel = tiny.kernel({"middleware.limits": recorder(seen)}, settings=kernel_values)
    kernel.plan(tiny.request(settings=values))
    return seen["main"]


def refused(values, **options):
    with pytest.raises(SettingsError) as caught:
        settings_of(values, **options)
    return caught.value


# -- where they come from ------------------------------------------------------------------------


def test_defaults_apply_where_nobody_set_a_value():
    assert settings_of() == Limits()
    assert tiny.kernel({"middleware.limits": recorder({})}).settings(Limits) == Limits()


def test_the_agents_settings_stand_over_the_kernels_key_by_key():
    found = settings_of(
        {"middleware.limits": {"depth": 3, "maybe": None}},
        kernel_values={"middleware.limits": {"depth": 2, "label": "kernel"}},
    )
    assert (found.depth, found.label, found.maybe, found.mode) == (3, "kernel", None, "fast")


def test_one_agents_settings_do_not_reach_the_next():
    seen = {}
    kernel = tiny.kernel({"middleware.limits": recorder(seen)}, settings={"middleware.limits": {"depth": 2}})
    depths = []
    for values in ({"middleware.limits": {"depth": 7}}, None, {}, {"middleware.limits": {}}):
        kernel.plan(tiny.request(settings=values))
        depths.append(seen["main"].depth)
    assert depths == [7, 2, 2, 2]
    assert kernel.settings(Limits).depth == 2


def test_a_ready_object_is_taken_as_it_is():
    ready = Limits(depth=5)
    assert (
        settings_of({"middleware.limits": ready}, kernel_values={"middleware.limits": {"label": "x"}})
        is ready
    )


def test_settings_reach_every_kind_of_stack():
    seen = {}
    kernel = tiny.kernel(
        {"middleware.limits": recorder(seen), "bundle.children": tiny.children()},
        settings={"middleware.limits": {"label": "kernel"}},
    )
    create_deep_agent(
        ScriptedChatModel(["done"]),
        subagents=[{"name": "scout", "description": "Looks."}],
        settings={"middleware.limits": {"depth": 4}},
        kernel=kernel,
    )
    assert list(seen) == ["main", "main/general-purpose", "main/scout"]
    assert set(map(str, seen.values())) == {str(Limits(depth=4, label="kernel"))}


def test_a_caller_may_change_its_mapping_afterwards():
    values = {"middleware.limits": {"names": ["a"]}}
    seen = {}
    kernel = tiny.kernel({"middleware.limits": recorder(seen)}, settings=values)
    values["middleware.limits"]["names"].append("b")
    values.clear()
    kernel.plan(tiny.request())
    assert seen["main"].names == ("a",)


# -- what is refused -----------------------------------------------------------------------------


@pytest.mark.parametrize("where", ["agent", "kernel"])
def test_an_unknown_key_is_named_with_its_path_its_source_and_the_nearest(where):
    values = {"middleware.limits": {"dpeth": 2}}
    error = refused(values) if where == "agent" else refused(None, kernel_values=values)
    assert error.key == "middleware.limits.dpeth"
    assert error.source == ("settings=" if where == "agent" else "Kernel(settings=...)")
    assert "nearest: depth" in error.hint
    for fact in (error.key, error.source, "depth"):
        assert fact in str(error)


def test_an_unknown_plugin_is_named_with_the_nearest():
    error = refused({"middelware.limits": {}})
    assert error.key == "middelware.limits"
    assert "middleware.limits" in error.hint


def test_a_plugin_without_settings_says_so():
    error = refused({"backend.tiny": {"x": 1}})
    assert "no settings" in error.reason


@pytest.mark.parametrize("value", [3, None, ["depth"], "depth"])
def test_settings_that_are_neither_a_mapping_nor_an_object_are_refused(value):
    error = refused({"middleware.limits": value})
    assert error.key == "middleware.limits"
    assert "Limits" in error.reason


@pytest.mark.parametrize("values", [3, "middleware.limits", [("middleware.limits", {})]])
def test_settings_that_are_no_mapping_are_refused(values):
    assert "plugin names" in refused(values).reason


BAD = {
    "depth": [0, "x", None, 2.5, 2.0, True, []],
    "ratio": [True, "x", None],
    "strict": ["maybe", 1, None, "", []],
    "label": [3, None, ["a"], {}],
    "maybe": [3],
    "either": [2.5, None],
    "names": ["abc", [1], None, {"a": 1}, 3],
    "pair": [[1], ["x", "y"], [1, "a", 2]],
    "words": ["abc", [None]],
    "table": [[1], {"a": 2.5}, {"a": "x"}, {1: 1}],
    "mode": ["medium", None],
    "colour": ["blue"],
    "inner": [3],
    "function": ["len"],
}


@pytest.mark.parametrize(("key", "value"), [(key, value) for key, values in BAD.items() for value in values])
def test_a_bad_value_is_refused_with_its_key_and_never_bent_into_shape(key, value):
    error = refused({"middleware.limits": {"label": "fine", key: value}})
    assert error.key == f"middleware.limits.{key}"
    assert error.source == "settings="
    assert repr(value) in error.reason


def test_a_key_of_nested_settings_is_named_with_its_full_path():
    error = refused({"middleware.limits": {"inner": {"sze": 1}}})
    assert error.key == "middleware.limits.inner.sze"
    assert "nearest: size" in error.hint
    assert refused({"middleware.limits": {"inner": {"size": "x"}}}).key == "middleware.limits.inner.size"
    assert refused({"middleware.limits": {"inners": [{"size": None}]}}).key == "middleware.limits.inners.size"


def test_values_that_only_go_together_are_judged_together():
    assert settings_of({"middleware.limits": {"low": 20, "high": 30}}).low == 20
    error = refused({"middleware.limits": {"low": 5, "high": 4}})
    assert error.key == "middleware.limits"
    assert "high is below low" in error.reason
    assert refused({"middleware.limits": {"high": -1}}).key == "middleware.limits.high"
    found = settings_of({"middleware.limits": {"low": 20}}, kernel_values={"middleware.limits": {"high": 30}})
    assert (found.low, found.high) == (20, 30)


# -- what is read --------------------------------------------------------------------------------

GOOD = [
    ("depth", "3", 3),
    ("ratio", "0.25", 0.25),
    ("ratio", 2, 2.0),
    ("strict", "false", False),
    ("strict", "True", True),
    ("strict", "0", False),
    ("strict", "on", True),
    ("maybe", None, None),
    ("either", "x", "x"),
    ("either", 3, 3),
    ("names", ["a", "b"], ("a", "b")),
    ("names", [], ()),
    ("pair", [1, "a"], (1, "a")),
    ("words", ["a"], ("a",)),
    ("table", {"a": 1}, {"a": 1}),
    ("mode", "slow", "slow"),
    ("colour", "red", Colour.RED),
    ("inner", {"size": 2}, Inner(2)),
    ("inner", Inner(3), Inner(3)),
    ("inners", [{"size": 2}], [Inner(2)]),
    ("function", str.upper, str.upper),
]


@pytest.mark.parametrize(("key", "value", "expected"), GOOD)
def test_plain_values_become_what_the_class_declares(key, value, expected):
    found = getattr(settings_of({"middleware.limits": {key: value}}), key)
    assert found == expected
    assert type(found) is type(expected)


def test_private_fields_go_by_their_public_name():
    @frozen
    class Secret:
        _token: Any = None

    assert structure(Secret, {"token": 3}, "x", "here") == Secret(3)


def test_settings_classes_are_attrs_classes_with_a_default_for_each_field():
    @frozen
    class Demanding:
        token: str

    for cls, fact in ((dict, "attrs"), ("Limits", "attrs"), (Limits(), "attrs"), (Demanding, "token")):
        with pytest.raises(PluginError) as caught:
            tiny.kernel(
                {"middleware.x": tiny.plugin(PluginInfo(settings=cls), deepagents_tools=lambda: None)}
            )
        assert caught.value.plugin == "middleware.x"
        assert fact in caught.value.reason


def test_two_plugins_do_not_share_a_settings_class():
    with pytest.raises(PluginError) as caught:
        tiny.kernel({"middleware.a": recorder({}), "middleware.b": recorder({})})
    assert caught.value.plugin == "middleware.b"
    assert "middleware.a" in caught.value.reason


# -- the kernel's own ----------------------------------------------------------------------------


def test_the_kernels_own_settings_are_bound_to_the_graph():
    kernel = tiny.kernel(settings={"kernel": {"integration": "my-app", "recursion_limit": 77}})
    config: RunnableConfig = kernel.create_deep_agent(ScriptedChatModel(["done"]), name="boss").config
    assert config["recursion_limit"] == 77
    assert config["metadata"]["ls_integration"] == "my-app"
    assert config["metadata"]["lc_versions"]["my-app"] == trace_version()
    assert config["metadata"]["lc_agent_name"] == "boss"
    overridden = kernel.create_deep_agent(
        ScriptedChatModel(["done"]), settings={"kernel": {"recursion_limit": 5}}
    )
    assert overridden.config["recursion_limit"] == 5
    assert overridden.config["metadata"]["ls_integration"] == "my-app"


def test_a_child_has_the_metadata_and_no_limit_of_its_own():
    kernel = tiny.kernel({"bundle.children": tiny.children()}, settings={"kernel": {"recursion_limit": 77}})
    plan = kernel.plan(tiny.request())
    config = plan.stack("main/general-purpose").handle.graph().config
    assert "recursion_limit" not in config
    assert config["metadata"]["lc_agent_name"] == "general-purpose"


def test_the_default_backend_is_a_setting():
    with pytest.raises(BackendSpecError, match="nowhere"):
        tiny.kernel().plan(tiny.request(settings={"kernel": {"default_backend": "nowhere"}}))


@pytest.mark.parametrize(
    ("key", "value"), [("recursion_limit", 0), ("recursion_limit", "many"), ("guard", 3)]
)
def test_bad_settings_of_the_kernel_are_refused(key, value):
    error = refused(None, kernel_values={"kernel": {key: value}})
    assert error.key == f"kernel.{key}"


def test_the_kernels_defaults():
    assert tiny.kernel().settings(KernelSettings) == KernelSettings()
    assert tiny.kernel().create_deep_agent(ScriptedChatModel(["x"])).config["recursion_limit"] == 9_999
