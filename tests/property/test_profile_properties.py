"""Rules that hold for all keys and all stacks of profiles."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.errors import ProfileError
from deepagents_kernel.profiles.config import HarnessProfileConfig
from deepagents_kernel.profiles.exclusions import shown
from deepagents_kernel.profiles.extras import replace_matching
from deepagents_kernel.profiles.harness import GeneralPurposeSubagentProfile, HarnessProfile
from deepagents_kernel.profiles.keys import check_key, split_spec
from deepagents_kernel.profiles.lookup import harness_for_model, harness_for_spec, overlay
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.parts import ProfilePart, pointless_entries
from deepagents_kernel.profiles.provider import ProviderProfile, merge_provider_profiles, resolve_kwargs
from deepagents_kernel.profiles.registry import ProfileRegistry
from deepagents_kernel.testing import ScriptedChatModel

NAMES = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.none() | st.sampled_from(["", "x", "y"])
SETS = st.frozensets(NAMES, max_size=3)


class One:
    pass


class Two:
    pass


CLASSES = [One, Two, type("One", (), {}), type("a", (), {})]
GENERAL_PURPOSE = st.none() | st.builds(
    GeneralPurposeSubagentProfile,
    enabled=st.none() | st.booleans(),
    description=TEXTS,
    system_prompt=TEXTS,
)
SHARED = {
    "base_system_prompt": TEXTS,
    "system_prompt_suffix": TEXTS,
    "tool_description_overrides": st.dictionaries(NAMES, st.text(max_size=3), max_size=3),
    "excluded_tools": SETS,
    "restored_tools": SETS,
    "general_purpose_subagent": GENERAL_PURPOSE,
}
ENTRIES = st.frozensets(NAMES | st.sampled_from(CLASSES) | st.just("One"), max_size=4)
PROFILES = st.builds(HarnessProfile, excluded_middleware=ENTRIES, restored_middleware=ENTRIES, **SHARED)
CONFIGS = st.builds(HarnessProfileConfig, excluded_middleware=SETS, restored_middleware=SETS, **SHARED)

# Keys that always hold a mapping, and keys that never do: what mixes them is a matter of taste, not of order.
KWARGS = st.dictionaries(NAMES, st.integers(0, 3), max_size=3).flatmap(
    lambda flat: st.dictionaries(
        st.sampled_from(["headers", "extra"]), st.dictionaries(NAMES, st.integers(0, 3)), max_size=2
    ).map(lambda nested: {**flat, **nested})
)


def provider(layer: tuple[dict[str, Any], dict[str, Any] | None]) -> ProviderProfile:
    static, made = layer
    return ProviderProfile(static, None, None if made is None else lambda: made)


LAYERS = st.tuples(KWARGS, st.none() | KWARGS)


def stacked(*dictionaries: dict[str, Any] | None) -> dict[str, Any]:
    result: dict[str, Any] = {}
    for dictionary in dictionaries:
        for key, value in (dictionary or {}).items():
            result[key] = {**result.get(key, {}), **value} if isinstance(value, dict) else value
    return result


@pytest.mark.spec("PP-002", "PP-003")
@given(st.text(alphabet="ab: \t", max_size=6))
def test_a_key_is_accepted_exactly_when_its_halves_are_clean(key: str) -> None:
    halves = key.split(":", 1)
    clean = all(half and half == half.strip() for half in halves)
    if clean:
        assert check_key(key) == key
        assert split_spec(key) is not None
    else:
        with pytest.raises(ProfileError):
            check_key(key)


@pytest.mark.spec("HP-032", "PP-010")
@given(st.text(alphabet="ab: ", max_size=5))
def test_lookups_never_raise_and_find_only_what_is_registered(spec: str) -> None:
    registry = ProfileRegistry()
    for key in ("a", "a:b", "b:a"):
        registry.register_harness(key, HarnessProfile(excluded_tools={key}))
    ref = harness_for_spec(registry, spec)
    expected = [key for key in (spec.partition(":")[0], spec) if key in registry.harness_keys()]
    if ":" in spec and not all(spec.split(":", 1)):
        expected = []
    assert list(ref.layers) == list(dict.fromkeys(expected))
    assert ref.profile.excluded_tools == set(expected)


@given(PROFILES, PROFILES, PROFILES)
def test_merging_harness_profiles_is_associative(
    one: HarnessProfile, two: HarnessProfile, three: HarnessProfile
) -> None:
    left = merge_harness_profiles(merge_harness_profiles(one, two), three)
    right = merge_harness_profiles(one, merge_harness_profiles(two, three))
    assert left == right


def _means(entry: Any) -> set[Any]:
    return {entry} if isinstance(entry, str) else {entry, entry.__name__}


def _slowly(profiles: list[HarnessProfile]) -> tuple[set[str], set[Any]]:
    """What stays excluded: every layer in turn takes back entry by entry, then excludes entry by entry."""
    tools: list[str] = []
    middleware: list[Any] = []
    for profile in profiles:
        for name in profile.restored_tools:
            while name in tools:
                tools.remove(name)
        for entry in profile.restored_middleware:
            kept = []
            for excluded in middleware:
                one_form = isinstance(excluded, str) is isinstance(entry, str)
                taken = excluded == entry if one_form else bool(_means(excluded) & _means(entry))
                kept += [] if taken else [excluded]
            middleware = kept
        tools += profile.excluded_tools
        middleware += profile.excluded_middleware
    return set(tools), set(middleware)


@pytest.mark.spec("BY-081")
@given(st.lists(PROFILES, min_size=1, max_size=5), st.data())
def test_taking_back_is_what_the_layers_do_one_after_the_other(
    profiles: list[HarnessProfile], data: st.DataObject
) -> None:
    expected = _slowly(profiles)
    pending = list(profiles)
    while len(pending) > 1:
        # Neighbours are merged in any order: only that of the layers counts.
        at = data.draw(st.integers(0, len(pending) - 2))
        pending[at : at + 2] = [merge_harness_profiles(*pending[at : at + 2])]
    assert (pending[0].excluded_tools, pending[0].excluded_middleware) == expected
    registry = ProfileRegistry()
    for profile in profiles:
        registry.register_harness("p:m", profile)
    merged = harness_for_spec(registry, "p:m").profile
    assert (merged.excluded_tools, merged.excluded_middleware) == expected


@pytest.mark.spec("BY-081", "BY-082")
@given(st.lists(PROFILES, max_size=4))
def test_an_entry_is_pointless_exactly_if_leaving_it_out_changes_nothing(
    profiles: list[HarnessProfile],
) -> None:
    parts = [ProfilePart(str(number), profile) for number, profile in enumerate(profiles)]
    found = {(item.part.layer, item.field, item.entry) for item in pointless_entries(parts)}
    expected = set()
    for number, profile in enumerate(profiles):
        below = _slowly(profiles[:number])
        for at, name in enumerate(("restored_tools", "restored_middleware")):
            for entry in getattr(profile, name):
                alone = HarnessProfile(**{name: [entry]})
                if _slowly([*profiles[:number], alone])[at] == below[at]:
                    expected.add((str(number), name, shown(entry)))
    assert found == expected


@given(PROFILES)
def test_the_empty_profile_changes_nothing(profile: HarnessProfile) -> None:
    assert merge_harness_profiles(HarnessProfile(), profile) == profile
    assert merge_harness_profiles(profile, HarnessProfile()) == profile


@pytest.mark.spec("PP-024", "PP-025", "PP-020")
@given(st.lists(LAYERS, min_size=1, max_size=4))
def test_each_provider_layer_is_resolved_before_the_next(
    layers: list[tuple[dict[str, Any], dict[str, Any] | None]],
) -> None:
    profiles = [provider(layer) for layer in layers]
    expected = stacked(*(part for layer in layers for part in layer))
    left = profiles[0]
    for profile in profiles[1:]:
        left = merge_provider_profiles(left, profile)
    right = profiles[-1]
    for profile in reversed(profiles[:-1]):
        right = merge_provider_profiles(profile, right)
    assert resolve_kwargs(left) == resolve_kwargs(right) == expected


@pytest.mark.spec("HP-062", "HP-067")
@given(CONFIGS)
def test_configs_survive_every_round_trip(config: HarnessProfileConfig) -> None:
    assert HarnessProfileConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config
    assert HarnessProfileConfig.from_harness_profile(config.to_harness_profile()) == config


class Item:
    def __init__(self, name: str, number: int) -> None:
        self.name = name
        self.number = number


class Other(Item):
    pass


ITEMS = st.lists(
    st.builds(
        lambda cls, name, number: cls(name, number), st.sampled_from([Item, Other]), NAMES, st.integers()
    ),
    max_size=5,
)


@pytest.mark.spec("HP-021", "HP-022", "HP-023")
@given(ITEMS, ITEMS)
def test_extras_of_the_override_win_and_nothing_stands_twice(base: list[Any], override: list[Any]) -> None:
    def same(one: Item, two: Item) -> bool:
        return type(one) is type(two) or one.name == two.name

    merged = replace_matching(base, override)
    kept = [item for item in merged if item in base]
    assert kept == [item for item in base if not any(same(item, above) for above in override)]
    novel = [item for item in override if not any(same(item, below) for below in base)]
    assert [item for item in merged if item in novel] == novel
    for below in base:
        matching = [above for above in override if same(below, above)]
        assert not matching or matching[-1] in merged
    assert len({id(item) for item in merged}) == len(merged)


# ---- one model, named as a string or given as an object

MODELS = st.sampled_from(["gpt-5.4", "claude-sonnet-4-6", "mistral-large", "grok-5", "own"])
ENDS = st.sampled_from(["", "-20260101", "-2026-03-05", "-latest", "@20250929"])
# What a provider is called in strings, in further spellings, and what its models report.
CALLED = {
    "openai": (["openai", "OpenAI"], "openai"),
    "azure_openai": (["azure_openai", "azure-openai", "azure"], "azure"),
    "mistralai": (["mistralai", "mistral"], "mistral"),
    "anthropic": (["anthropic"], "anthropic"),
    "xai": (["xai"], "xai"),
    "nvidia": (["nvidia", "NVIDIA"], "NVIDIA"),
    "bedrock_converse": (["bedrock_converse", "bedrock"], "amazon_bedrock"),
    "acme": (["acme"], "acme"),
}
INFERRED = {
    "gpt-5.4": "openai",
    "claude-sonnet-4-6": "anthropic",
    "mistral-large": "mistralai",
    "grok-5": "xai",
}


@st.composite
def keys(draw: st.DrawFn) -> str:
    model = draw(MODELS) + draw(ENDS)
    spelled = draw(st.sampled_from([name for names, _ in CALLED.values() for name in names]))
    return draw(st.sampled_from([spelled, f"{spelled}:{model}", model]))


@pytest.mark.spec("MOD-006", "MOD-007", "MOD-026", "HP-033")
@given(st.lists(keys(), max_size=6), st.sampled_from(sorted(CALLED)), MODELS, ENDS, st.data())
def test_a_string_and_the_model_made_from_it_have_the_same_profile(
    registered: list[str], provider: str, name: str, end: str, data: st.DataObject
) -> None:
    registry = ProfileRegistry()
    for number, key in enumerate(registered):
        registry.register_harness(key, HarnessProfile(excluded_tools={f"{number}"}))
    spellings, reported = CALLED[provider]
    specs = [f"{spelled}:{name}{end}" for spelled in spellings]
    if INFERRED.get(name) == provider:
        specs.append(name + end)
    model = ScriptedChatModel(["x"], provider=reported, model_name=name + end)
    ref = harness_for_model(registry, model)
    spec = data.draw(st.sampled_from(specs))
    assert harness_for_spec(registry, spec) == ref
    assert harness_for_spec(registry, spec).profile.excluded_tools == ref.profile.excluded_tools
    mine = HarnessProfile(excluded_tools={"mine"})
    assert overlay(ref, mine).layers == (*ref.layers, "profile=")
    assert len(ref.layers) <= 2
    assert set(ref.layers) <= set(registered)
