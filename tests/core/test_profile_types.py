"""The profile classes: what they accept, what they refuse, how they are merged."""

import subprocess
import sys
from functools import partial
from types import MappingProxyType
from typing import ClassVar

import pytest
from attrs import evolve
from attrs.exceptions import FrozenInstanceError
from langchain.agents.middleware.types import AgentMiddleware

from deepagents_kernel import _builtin
from deepagents_kernel.errors import DeepAgentsError, ProfileError, ProfileTypeError
from deepagents_kernel.profiles.config import HarnessProfileConfig
from deepagents_kernel.profiles.harness import GeneralPurposeSubagentProfile, HarnessProfile
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.provider import ProviderProfile, merge_provider_profiles, resolve_kwargs

GP = GeneralPurposeSubagentProfile
BOTH = [HarnessProfile, HarnessProfileConfig]


class Alpha(AgentMiddleware):
    pass


class Beta(AgentMiddleware):
    pass


class Named(AgentMiddleware):
    """A middleware whose name is chosen by the instance."""

    def __init__(self, name: str) -> None:
        super().__init__()
        self._name = name

    @property
    def name(self) -> str:
        return self._name


class OtherNamed(Named):
    pass


def extras(profile: HarnessProfile) -> list[AgentMiddleware]:
    return profile.materialize_extra_middleware()


def merged_extras(base: object, override: object) -> list[AgentMiddleware]:
    merged = merge_harness_profiles(
        HarnessProfile(extra_middleware=base), HarnessProfile(extra_middleware=override)
    )
    return extras(merged)


# ---- the entries of excluded_middleware


@pytest.mark.spec("EXC-001")
@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize("entry", ["", " ", "\t\n"])
def test_blank_exclusion_is_refused(cls: type, entry: str) -> None:
    with pytest.raises(ProfileError, match="empty name"):
        cls(excluded_middleware={entry})


@pytest.mark.spec("EXC-002")
@pytest.mark.parametrize("cls", BOTH)
def test_class_path_is_refused(cls: type) -> None:
    with pytest.raises(ValueError, match=r"'package.module:Class'.*class paths"):
        cls(excluded_middleware={"package.module:Class"})


@pytest.mark.spec("EXC-003")
@pytest.mark.parametrize("cls", BOTH)
def test_private_name_is_refused(cls: type) -> None:
    with pytest.raises(ValueError, match=r"'_Private'.*private"):
        cls(excluded_middleware={"_Private"})


def test_private_class_is_accepted() -> None:
    class _Private(AgentMiddleware):
        pass

    assert HarnessProfile(excluded_middleware={_Private}).excluded_middleware == {_Private}


@pytest.mark.spec("EXC-004", "EXC-006")
@pytest.mark.parametrize("cls", BOTH)
def test_scaffolding_names_are_refused_together(cls: type) -> None:
    with pytest.raises(ProfileError) as caught:
        cls(excluded_middleware=["SubAgentMiddleware", "Fine", "FilesystemMiddleware"])
    text = str(caught.value)
    assert text.index("FilesystemMiddleware") < text.index("SubAgentMiddleware")
    assert text.count("(string form)") == 2
    assert "excluded_tools" in text
    assert "Fine" not in text


@pytest.mark.spec("EXC-005")
def test_class_named_like_scaffolding_is_refused() -> None:
    unrelated = type("FilesystemMiddleware", (), {})
    aliased = type("SubAgentMiddleware", (), {"serialized_name": "Other", "name": "Other"})
    for cls in (unrelated, aliased):
        with pytest.raises(ProfileError, match=cls.__name__):
            HarnessProfile(excluded_middleware={cls})


@pytest.mark.spec("EXC-005")
def test_class_that_keeps_a_scaffolding_name_is_refused() -> None:
    class Mine(AgentMiddleware):
        name = "FilesystemMiddleware"

    with pytest.raises(ProfileError, match="Mine"):
        HarnessProfile(excluded_middleware={Mine})


@pytest.mark.spec("EXC-006")
def test_every_faulty_entry_is_reported_sorted_and_by_form() -> None:
    required = type("SubAgentMiddleware", (AgentMiddleware,), {})
    with pytest.raises(ProfileError) as caught:
        HarnessProfile(excluded_middleware=["a:b", required, "_X", "FilesystemMiddleware"])
    faults = [line.strip() for line in str(caught.value).splitlines()[1:]]
    assert faults == sorted(faults)
    assert len(faults) == 4
    marked = {line.split(":")[0] for line in faults if "(string form)" in line}
    assert "'FilesystemMiddleware' (string form)" in marked
    assert any(line.startswith("'SubAgentMiddleware':") for line in faults)


@pytest.mark.spec("EXC-007")
@pytest.mark.parametrize("entry", [3, None, b"Name", ("a",)])
def test_entry_that_is_no_name_and_no_class_is_refused(entry: object) -> None:
    with pytest.raises(ProfileTypeError, match="excluded_middleware"):
        HarnessProfile(excluded_middleware=["Fine", entry])


@pytest.mark.spec("EXC-007")
def test_config_refuses_classes() -> None:
    with pytest.raises(TypeError, match="Alpha"):
        HarnessProfileConfig(excluded_middleware={Alpha})


@pytest.mark.spec("EXC-008")
def test_scaffolding_is_exactly_two_names() -> None:
    refused = set()
    for name in [*_builtin.load_table().absent, *_builtin.load_table().middleware_exports]:
        try:
            HarnessProfile(excluded_middleware={name})
        except ProfileError:
            refused.add(name)
    assert refused == {"FilesystemMiddleware", "SubAgentMiddleware"}


def test_scaffolding_comes_from_the_built_in_table(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        _builtin, "load_table", lambda: _builtin.BuiltinTable(scaffolding=frozenset({"Mine"}))
    )
    HarnessProfile(excluded_middleware={"FilesystemMiddleware"})
    with pytest.raises(ProfileError, match="Mine"):
        HarnessProfile(excluded_middleware={"Mine"})


@pytest.mark.parametrize("entry", ["", "a:b", "_X"])
@pytest.mark.parametrize("cls", BOTH)
def test_restored_names_follow_the_same_grammar(cls: type, entry: str) -> None:
    with pytest.raises(ProfileError, match="restored_middleware"):
        cls(restored_middleware={entry})


# ---- construction of harness profiles


@pytest.mark.spec("HP-005")
def test_extra_middleware_list_is_copied_and_factory_is_stored() -> None:
    given = [Alpha()]
    profile = HarnessProfile(extra_middleware=given)
    given.append(Beta())
    assert [type(item) for item in extras(profile)] == [Alpha]
    assert isinstance(profile.extra_middleware, tuple)

    def factory() -> list[AgentMiddleware]:
        return []

    assert HarnessProfile(extra_middleware=factory).extra_middleware is factory


@pytest.mark.spec("HP-005")
def test_one_shot_iterator_given_as_extras_is_kept() -> None:
    profile = HarnessProfile(extra_middleware=iter([Alpha()]))
    assert len(extras(profile)) == len(extras(profile)) == 1


async def _coroutine_factory() -> list[AgentMiddleware]:
    return []


class _Later:
    async def __call__(self, *_args: object) -> list[AgentMiddleware]:
        return []


@pytest.mark.parametrize("field", ["pre_init", "init_kwargs_factory"])
@pytest.mark.parametrize("value", [_Later(), partial(_Later()), partial(_coroutine_factory)])
def test_asynchronous_objects_are_refused_like_asynchronous_functions(field: str, value: object) -> None:
    with pytest.raises(ProfileTypeError, match=f"{field}: a coroutine function"):
        ProviderProfile(**{field: value})


def test_keyword_arguments_that_contain_themselves_are_refused() -> None:
    endless: dict[str, object] = {}
    endless["again"] = [endless]
    with pytest.raises(ProfileTypeError, match="init_kwargs: a value contains itself"):
        ProviderProfile(init_kwargs=endless)


@pytest.mark.spec("HP-007")
@pytest.mark.parametrize("name", ["", "  ", " ls", "ls\n"])
@pytest.mark.parametrize(
    "field",
    [
        "excluded_tools",
        "excluded_middleware",
        "restored_tools",
        "restored_middleware",
        "tool_description_overrides",
    ],
)
@pytest.mark.parametrize("cls", BOTH)
def test_names_with_blanks_around_them_are_refused(cls: type, field: str, name: str) -> None:
    with pytest.raises(ProfileError, match=f"{field}: 1 entry can't be used") as caught:
        cls(**{field: {name: "text"} if field == "tool_description_overrides" else {name, "fine"}})
    assert repr(name) in str(caught.value)


@pytest.mark.spec("HP-005")
@pytest.mark.parametrize(
    "value",
    [
        3,
        None,
        "Alpha",
        Alpha,
        Alpha(),
        [Alpha],
        [None],
        {"a": Alpha()},
        _coroutine_factory,
        [3],
        [object()],
        _Later(),
    ],
)
def test_unusable_extras_are_refused(value: object) -> None:
    with pytest.raises(ProfileTypeError, match="extra_middleware"):
        HarnessProfile(extra_middleware=value)


@pytest.mark.spec("HP-006")
def test_description_overrides_are_copied_and_read_only() -> None:
    behind = {"ls": "list"}
    profiles = [
        HarnessProfile(tool_description_overrides=given) for given in (behind, MappingProxyType(behind))
    ]
    behind["ls"] = "changed"
    for profile in profiles:
        assert profile.tool_description_overrides == {"ls": "list"}
        with pytest.raises(TypeError):
            profile.tool_description_overrides["ls"] = "changed"


@pytest.mark.spec("HP-007")
@pytest.mark.parametrize("cls", BOTH)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("base_system_prompt", 3),
        ("system_prompt_suffix", b"text"),
        ("tool_description_overrides", [("ls", "x")]),
        ("tool_description_overrides", {"ls": 3}),
        ("tool_description_overrides", {3: "ls"}),
        ("excluded_tools", {"ls": True}),
        ("excluded_tools", 3),
        ("excluded_tools", None),
        ("excluded_tools", [3]),
        ("excluded_tools", [["unhashable"]]),
        ("excluded_middleware", "Name"),
        ("restored_tools", "ls"),
        ("restored_middleware", [3]),
        ("general_purpose_subagent", {"enabled": False}),
    ],
)
def test_wrong_types_are_refused_by_field_name(cls: type, field: str, value: object) -> None:
    with pytest.raises(ProfileTypeError, match=field) as caught:
        cls(**{field: value})
    assert isinstance(caught.value, TypeError)
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, DeepAgentsError)


@pytest.mark.spec("HP-008")
@pytest.mark.parametrize("cls", BOTH)
def test_plain_string_for_a_set_is_refused(cls: type) -> None:
    with pytest.raises(ProfileTypeError, match=r"excluded_tools.*'ls,glob'"):
        cls(excluded_tools="ls,glob")


@pytest.mark.spec("HP-009")
@pytest.mark.parametrize("cls", BOTH)
def test_containers_become_frozensets(cls: type) -> None:
    for given in (["ls"], ("ls",), {"ls"}, iter(["ls"])):
        profile = cls(excluded_tools=given)
        assert profile.excluded_tools == frozenset({"ls"})
        assert isinstance(profile.excluded_tools, frozenset)
    merged = merge_harness_profiles(
        HarnessProfile(excluded_tools=["ls"]), HarnessProfile(excluded_tools=["grep"])
    )
    assert merged.excluded_tools == {"ls", "grep"}


@pytest.mark.spec("HP-010")
def test_materialize_calls_the_factory_each_time_and_returns_a_new_list() -> None:
    made = HarnessProfile(extra_middleware=lambda: (Alpha(),))
    first, second = extras(made), extras(made)
    assert first[0] is not second[0]
    static = HarnessProfile(extra_middleware=[Alpha()])
    assert extras(static) is not extras(static)
    extras(static).clear()
    assert len(extras(static)) == 1


@pytest.mark.parametrize("made", [None, "Alpha", Alpha(), [Alpha]])
def test_factory_with_an_unusable_result_is_named(made: object) -> None:
    profile = HarnessProfile(extra_middleware=lambda: made)
    with pytest.raises(ProfileTypeError, match="extra_middleware"):
        extras(profile)


def test_positional_order_of_fields() -> None:
    middleware, gp = Alpha(), GP(enabled=False)
    profile = HarnessProfile("base", "suffix", {"ls": "x"}, ["a"], ["B"], [middleware], gp)
    assert profile.extra_middleware == (middleware,)
    assert profile.general_purpose_subagent is gp
    assert (
        HarnessProfileConfig("base", "suffix", {"ls": "x"}, ["a"], ["B"], gp).general_purpose_subagent is gp
    )
    assert GP(True, "d", "p") == GP(enabled=True, description="d", system_prompt="p")
    check, factory = print, dict
    provider = ProviderProfile({"a": 1}, check, factory)
    assert (provider.pre_init, provider.init_kwargs_factory) == (check, factory)
    with pytest.raises(TypeError):
        HarnessProfile("base", "suffix", {}, [], [], [], gp, {"ls"})


@pytest.mark.parametrize("profile", [ProviderProfile(), HarnessProfile(), HarnessProfileConfig(), GP()])
def test_profiles_can_not_be_rebound(profile: object) -> None:
    name = type(profile).__attrs_attrs__[0].name
    with pytest.raises(FrozenInstanceError):
        setattr(profile, name, None)


@pytest.mark.spec("PP-032")
@pytest.mark.parametrize("cls", [ProviderProfile, *BOTH])
def test_profiles_compare_by_value_and_have_no_hash(cls: type) -> None:
    assert cls() == cls()
    with pytest.raises(TypeError, match="unhashable"):
        hash(cls())
    assert ProviderProfile({"a": {"b": 1}}) == ProviderProfile({"a": {"b": 1}})
    assert ProviderProfile({"a": {"b": 1}}) != ProviderProfile({"a": {"b": 2}})
    assert HarnessProfile(excluded_tools=["a"]) == HarnessProfile(excluded_tools={"a"})


@pytest.mark.parametrize(
    ("field", "value"), [("enabled", 1), ("enabled", "no"), ("description", 3), ("system_prompt", ["x"])]
)
def test_general_purpose_profile_checks_types(field: str, value: object) -> None:
    with pytest.raises(ProfileTypeError, match=field):
        GP(**{field: value})


# ---- merging harness profiles


@pytest.mark.spec("HP-001")
def test_empty_string_is_a_value_that_wins() -> None:
    base = HarnessProfile(base_system_prompt="B", system_prompt_suffix="S")
    merged = merge_harness_profiles(base, HarnessProfile(base_system_prompt="", system_prompt_suffix=""))
    assert (merged.base_system_prompt, merged.system_prompt_suffix) == ("", "")
    unset = merge_harness_profiles(base, HarnessProfile())
    assert (unset.base_system_prompt, unset.system_prompt_suffix) == ("B", "S")


@pytest.mark.spec("HP-002")
@pytest.mark.parametrize(
    ("below", "above", "expected"),
    [
        (False, True, True),
        (True, False, False),
        (False, None, False),
        (None, False, False),
        (None, None, None),
    ],
)
def test_general_purpose_enabled_has_three_states(below: object, above: object, expected: object) -> None:
    merged = merge_harness_profiles(
        HarnessProfile(general_purpose_subagent=GP(enabled=below)),
        HarnessProfile(general_purpose_subagent=GP(enabled=above)),
    )
    assert merged.general_purpose_subagent is not None
    assert merged.general_purpose_subagent.enabled is expected


def test_general_purpose_fields_merge_one_by_one() -> None:
    base = HarnessProfile(general_purpose_subagent=GP(enabled=False, description="d", system_prompt="p"))
    merged = merge_harness_profiles(base, HarnessProfile(general_purpose_subagent=GP(description="")))
    assert merged.general_purpose_subagent == GP(enabled=False, description="", system_prompt="p")
    assert (
        merge_harness_profiles(base, HarnessProfile()).general_purpose_subagent
        == base.general_purpose_subagent
    )
    assert (
        merge_harness_profiles(HarnessProfile(), base).general_purpose_subagent
        == base.general_purpose_subagent
    )
    assert merge_harness_profiles(HarnessProfile(), HarnessProfile()).general_purpose_subagent is None


def test_descriptions_and_exclusions_merge() -> None:
    merged = merge_harness_profiles(
        HarnessProfile(tool_description_overrides={"a": "1", "b": "1"}, excluded_middleware={"Alpha"}),
        HarnessProfile(tool_description_overrides={"b": "2"}, excluded_middleware={Alpha}),
    )
    assert merged.tool_description_overrides == {"a": "1", "b": "2"}
    assert merged.excluded_middleware == {"Alpha", Alpha}


@pytest.mark.spec("HP-020")
def test_empty_side_keeps_the_other_as_it_is() -> None:
    def factory() -> list[AgentMiddleware]:
        return [Alpha()]

    empty, static, made = (
        HarnessProfile(),
        HarnessProfile(extra_middleware=[Alpha()]),
        HarnessProfile(extra_middleware=factory),
    )
    for full in (static, made):
        assert merge_harness_profiles(empty, full).extra_middleware is full.extra_middleware
        assert merge_harness_profiles(full, empty).extra_middleware is full.extra_middleware
    assert callable(merge_harness_profiles(static, made).extra_middleware)
    assert callable(merge_harness_profiles(static, static).extra_middleware)


@pytest.mark.spec("HP-021")
def test_override_replaces_in_place_drops_further_ones_and_appends() -> None:
    a1, a2, b1, a3, n = Alpha(), Alpha(), Beta(), Alpha(), Named("n")
    assert merged_extras([a1, b1, a2], [n, a3]) == [a3, b1, n]


@pytest.mark.spec("HP-021")
def test_subclass_is_another_type() -> None:
    class Sub(Alpha):
        pass

    a, sub = Alpha(), Sub()
    assert merged_extras([a], [sub]) == [a, sub]


@pytest.mark.spec("HP-022")
def test_last_of_several_overrides_is_kept() -> None:
    a1, a2, a3, b1, b2 = Alpha(), Alpha(), Alpha(), Beta(), Beta()
    assert merged_extras([a1], [a2, a3, b1, b2]) == [a3, b1, b2]


@pytest.mark.spec("HP-023")
def test_override_replaces_by_name_as_well() -> None:
    below, above, other = Named("shared"), OtherNamed("shared"), Alpha()
    assert merged_extras([below, other], [above]) == [above, other]


@pytest.mark.spec("HP-024")
@pytest.mark.parametrize("side", ["base", "override"])
def test_one_shot_iterators_survive_a_merge(side: str) -> None:
    a, b = Alpha(), Beta()
    one_shot, static = (lambda: iter([a])), [b]
    base, override = (one_shot, static) if side == "base" else (static, one_shot)
    merged = merge_harness_profiles(
        HarnessProfile(extra_middleware=base), HarnessProfile(extra_middleware=override)
    )
    expected = [a, b] if side == "base" else [b, a]
    assert extras(merged) == expected
    assert extras(merged) == expected


@pytest.mark.spec("HP-025")
def test_merging_shares_static_instances_and_remakes_others() -> None:
    static = Alpha()
    merged = merge_harness_profiles(
        HarnessProfile(extra_middleware=[static]), HarnessProfile(extra_middleware=lambda: [Beta()])
    )
    first, second = extras(merged), extras(merged)
    assert first[0] is second[0] is static
    assert first[1] is not second[1]


@pytest.mark.spec("BY-081")
def test_upper_layer_takes_back_what_a_lower_one_excluded() -> None:
    base = HarnessProfile(excluded_tools=["ls", "grep"], excluded_middleware=["Gone", Alpha, Beta])
    over = HarnessProfile(restored_tools=["ls"], restored_middleware=["Gone", Alpha])
    merged = merge_harness_profiles(base, over)
    assert merged.excluded_tools == {"grep"}
    assert merged.excluded_middleware == {Beta}


@pytest.mark.spec("BY-081")
def test_taking_back_works_across_forms() -> None:
    class Lazy(AgentMiddleware):
        serialized_name: ClassVar[str] = "Public"

    below = HarnessProfile(excluded_middleware=[Alpha, Lazy, "Beta"])
    over = HarnessProfile(restored_middleware=["Alpha", "Public", Beta])
    assert merge_harness_profiles(below, over).excluded_middleware == frozenset()


def test_restoring_acts_on_lower_layers_only() -> None:
    both = HarnessProfile(excluded_tools=["ls"], restored_tools=["ls"])
    assert both.excluded_tools == {"ls"}
    assert merge_harness_profiles(HarnessProfile(excluded_tools=["ls"]), both).excluded_tools == {"ls"}
    taken_back = merge_harness_profiles(
        HarnessProfile(excluded_tools=["ls"]), HarnessProfile(restored_tools=["ls"])
    )
    again = merge_harness_profiles(taken_back, HarnessProfile(excluded_tools=["ls"]))
    assert again.excluded_tools == {"ls"}


def test_restoring_a_class_leaves_another_of_that_name_excluded() -> None:
    twin = type("Alpha", (AgentMiddleware,), {})
    merged = merge_harness_profiles(
        HarnessProfile(excluded_middleware=[twin]), HarnessProfile(restored_middleware=[Alpha])
    )
    assert merged.excluded_middleware == {twin}


# ---- provider profiles


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("init_kwargs", [("a", 1)]),
        ("init_kwargs", None),
        ("init_kwargs", {3: "a"}),
        ("pre_init", "check"),
        ("init_kwargs_factory", {"a": 1}),
        ("init_kwargs_factory", _coroutine_factory),
    ],
)
def test_provider_profile_checks_types(field: str, value: object) -> None:
    with pytest.raises(ProfileTypeError, match=field):
        ProviderProfile(**{field: value})


@pytest.mark.spec("PP-030")
def test_init_kwargs_are_copied_and_read_only() -> None:
    given = {"a": 1}
    profile = ProviderProfile(given)
    given["a"] = 2
    assert profile.init_kwargs == {"a": 1}
    with pytest.raises(TypeError):
        profile.init_kwargs["a"] = 2


@pytest.mark.spec("PP-031")
def test_proxies_and_nested_values_are_copied() -> None:
    headers, tags = {"X": "1"}, ["t"]
    behind = {"default_headers": headers, "tags": tags, "pair": (headers, tags)}
    profile = ProviderProfile(MappingProxyType(behind))
    behind["new"] = 1
    headers["X"] = "2"
    tags.append("u")
    assert profile.init_kwargs == {"default_headers": {"X": "1"}, "tags": ["t"], "pair": ({"X": "1"}, ["t"])}
    with pytest.raises(TypeError):
        profile.init_kwargs["default_headers"]["X"] = "2"


def test_resolved_kwargs_are_plain_and_shared_with_nobody() -> None:
    client = object()
    profile = ProviderProfile({"h": {"a": 1}, "tags": ["t"], "client": client})
    first = resolve_kwargs(profile)
    assert type(first["h"]) is dict
    assert first["client"] is client
    first["h"]["a"] = first["tags"] = None
    assert resolve_kwargs(profile) == {"h": {"a": 1}, "tags": ["t"], "client": client}


def test_repr_shows_no_values() -> None:
    assert "sk-secret" not in repr(ProviderProfile({"api_key": "sk-secret"}))
    assert "api_key" in repr(ProviderProfile({"api_key": "sk-secret"}))


@pytest.mark.spec("PP-020")
def test_nested_mappings_merge_key_by_key() -> None:
    merged = merge_provider_profiles(
        ProviderProfile({"default_headers": {"A": "1", "B": "1"}, "seed": 1, "tags": ["a"], "x": {"k": 1}}),
        ProviderProfile({"default_headers": {"B": "2", "C": "2"}, "tags": ["b"], "x": None}),
    )
    assert merged.init_kwargs == {
        "default_headers": {"A": "1", "B": "2", "C": "2"},
        "seed": 1,
        "tags": ["b"],
        "x": None,
    }


@pytest.mark.spec("PP-021")
def test_pre_init_chain_runs_base_first_and_stops_at_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    seen: list[str] = []

    def refuse(spec: str) -> None:
        seen.append(f"refuse {spec}")
        raise ImportError("too old")

    def check(name: str) -> ProviderProfile:
        return ProviderProfile(pre_init=lambda spec: seen.append(f"{name} {spec}"))

    merged = merge_provider_profiles(
        merge_provider_profiles(check("one"), check("two")),
        merge_provider_profiles(ProviderProfile(pre_init=refuse), check("never")),
    )
    assert merged.pre_init is not None
    with pytest.raises(ImportError, match="too old"):
        merged.pre_init("p:m")
    assert seen == ["one p:m", "two p:m", "refuse p:m"]
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert errors[0].exc_info is not None
    assert "refuse" in errors[0].getMessage()


@pytest.mark.spec("PP-022")
def test_factories_chain_base_first_and_the_override_wins(caplog: pytest.LogCaptureFixture) -> None:
    order: list[str] = []

    def factory(name: str, **kwargs: object) -> ProviderProfile:
        return ProviderProfile(init_kwargs_factory=lambda: order.append(name) or dict(kwargs))

    merged = merge_provider_profiles(factory("base", a=1, b=1), factory("over", b=2))
    assert resolve_kwargs(merged) == {"a": 1, "b": 2}
    assert order == ["base", "over"]

    def broken() -> dict[str, object]:
        raise RuntimeError("no credentials")

    order.clear()
    failing = merge_provider_profiles(
        merge_provider_profiles(ProviderProfile(init_kwargs_factory=broken), factory("x")), factory("y")
    )
    with pytest.raises(RuntimeError, match="no credentials"):
        resolve_kwargs(failing)
    assert order == []
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == 1
    assert errors[0].exc_info is not None


@pytest.mark.spec("PP-023")
def test_side_without_callables_inherits_them() -> None:
    def check(spec: str) -> None:
        return None

    full, empty = ProviderProfile({}, check, dict), ProviderProfile()
    for merged in (merge_provider_profiles(full, empty), merge_provider_profiles(empty, full)):
        assert merged.pre_init is check
        assert merged.init_kwargs_factory is dict
    assert merge_provider_profiles(empty, empty) == empty


@pytest.mark.spec("PP-024")
def test_more_specific_static_value_beats_a_lower_factory() -> None:
    provider = ProviderProfile({"a": 1}, None, lambda: {"seed": 1, "f": 1})
    model = ProviderProfile({"seed": 2})
    assert resolve_kwargs(merge_provider_profiles(provider, model)) == {"a": 1, "seed": 2, "f": 1}
    assert merge_provider_profiles(provider, model).init_kwargs == {"a": 1, "seed": 2}


@pytest.mark.spec("PP-024")
def test_what_a_factory_replaced_does_not_come_back_from_the_layer_below_it() -> None:
    provider = ProviderProfile({"x": {"a": 1}}, None, lambda: {"x": 5})
    assert resolve_kwargs(merge_provider_profiles(provider, ProviderProfile({"x": {"b": 2}}))) == {
        "x": {"b": 2}
    }


@pytest.mark.spec("PP-025")
def test_static_kwargs_of_a_user_override_and_extend_a_factory_below() -> None:
    below = ProviderProfile(
        init_kwargs_factory=lambda: {"app_title": "Kernel", "default_headers": {"X": "1"}}
    )
    merged = merge_provider_profiles(
        below, ProviderProfile({"app_title": "Mine", "default_headers": {"Y": "2"}})
    )
    assert resolve_kwargs(merged) == {"app_title": "Mine", "default_headers": {"X": "1", "Y": "2"}}
    above = merge_provider_profiles(merged, ProviderProfile(init_kwargs_factory=lambda: {"app_title": "Top"}))
    assert resolve_kwargs(above)["app_title"] == "Top"


def test_merged_provider_profile_can_be_evolved() -> None:
    merged = merge_provider_profiles(ProviderProfile({}, None, lambda: {"a": 1}), ProviderProfile({"b": 1}))
    assert resolve_kwargs(evolve(merged, init_kwargs={"c": 1})) == {"a": 1, "b": 1, "c": 1}


def test_equal_merges_are_equal() -> None:
    one, two = ProviderProfile({"a": 1}, print, dict), ProviderProfile({"b": 1}, print, dict)
    assert merge_provider_profiles(one, two) == merge_provider_profiles(one, two)
    static = HarnessProfile(extra_middleware=[Alpha()])
    assert merge_harness_profiles(static, static) == merge_harness_profiles(static, static)


# ---- imports


def test_profiles_are_imported_without_langchain() -> None:
    code = (
        "import sys, deepagents_kernel.profiles as door\n"
        "assert 'deepagents_kernel.profiles.provider' not in sys.modules\n"
        "import deepagents_kernel.profiles.lookup\n"
        "door.HarnessProfile(excluded_middleware=['X']), door.ProviderProfile({'a': 1})\n"
        "door.HarnessProfileConfig()\n"
        "heavy = ('langchain', 'langchain_core', 'langgraph')\n"
        "assert not [name for name in sys.modules if name.split('.')[0] in heavy]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": ":".join(sys.path)})


def test_door_exports_exactly_these_names() -> None:
    import deepagents_kernel.profiles as door

    assert sorted(door.__all__) == [
        "GeneralPurposeSubagentProfile",
        "HarnessProfile",
        "HarnessProfileConfig",
        "LazyProfile",
        "ProviderProfile",
        "harness_for_spec",
        "provider_kwargs",
        "register_harness_profile",
        "register_provider_profile",
    ]
    assert set(door.__all__) <= set(dir(door))
    assert door.HarnessProfile is HarnessProfile
    assert door.ProviderProfile is ProviderProfile
    with pytest.raises(AttributeError, match="HarnesProfile"):
        door.HarnesProfile  # noqa: B018  # the access is what is tested
