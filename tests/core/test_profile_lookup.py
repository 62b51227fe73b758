"""Which profile applies to which model."""

import logging
import sys
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel

from deepagents_kernel.errors import ProfileTypeError
from deepagents_kernel.profiles.config import HarnessProfileConfig
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.lookup import (
    EMPTY_PROFILE,
    ProfileRef,
    harness_for_model,
    harness_for_spec,
    overlay,
    provider_for_spec,
    provider_kwargs,
)
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.provider import ProviderProfile, apply_provider_profile, get_provider_profile
from deepagents_kernel.profiles.registry import ProfileRegistry


class FakeModel(GenericFakeChatModel):
    """A chat model that reports a given provider and identifier."""

    provider: str | None = None
    model_name: str | None = None

    def _get_ls_params(self, *args: Any, **kwargs: Any) -> Any:
        return {} if self.provider is None else {"ls_provider": self.provider}


def fake(provider: str | None, identifier: str | None) -> FakeModel:
    return FakeModel(messages=iter([]), provider=provider, model_name=identifier)


def harnesses(*keys: str) -> ProfileRegistry:
    registry = ProfileRegistry()
    for key in keys:
        registry.register_harness(key, HarnessProfile(system_prompt_suffix=key, excluded_tools={key}))
    return registry


def layers(ref: ProfileRef) -> tuple[str, ...]:
    assert ref.profile.excluded_tools == set(ref.layers)
    assert ref.key == (ref.layers[-1] if ref.layers else "")
    assert ref.profile.system_prompt_suffix == (ref.key or None)
    return ref.layers


# ---- harness profiles, by spec


@pytest.mark.spec("HP-030")
def test_exact_key_over_provider_key(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    registry = harnesses("pa", "pa:m1", "pb:m2")
    assert layers(harness_for_spec(registry, "pa:m1")) == ("pa", "pa:m1")
    assert layers(harness_for_spec(registry, "pb:m2")) == ("pb:m2",)
    assert layers(harness_for_spec(registry, "pa:other")) == ("pa",)
    assert harness_for_spec(registry, "nope:m1") is EMPTY_PROFILE
    assert {record.levelname for record in caplog.records if record.event == "harness_profile_lookup"} == {
        "DEBUG"
    }


@pytest.mark.spec("HP-031")
def test_bare_spec_matches_a_provider_key() -> None:
    assert layers(harness_for_spec(harnesses("pa", "pa:m1"), "pa")) == ("pa",)
    assert layers(harness_for_spec(harnesses("pa", "pa:m1"), "m1")) == ()


@pytest.mark.spec("HP-032")
@pytest.mark.parametrize("spec", ["", ":", ":m1", "pa:", None])
def test_malformed_spec_has_no_profile(spec: Any) -> None:
    assert harness_for_spec(harnesses("pa", "pa:m1"), spec) is EMPTY_PROFILE


def test_spec_with_further_colons_and_case() -> None:
    registry = harnesses("p", "p:a:b")
    assert layers(harness_for_spec(registry, "p:a:b")) == ("p", "p:a:b")
    assert layers(harness_for_spec(registry, "P:a:b")) == ("p", "p:a:b")
    assert layers(harness_for_spec(registry, "p:A:b")) == ("p",)


# ---- harness profiles, by instance


@pytest.mark.spec("HP-033")
def test_instance_is_found_by_reported_provider_and_identifier() -> None:
    registry = harnesses("pa", "pa:m1")
    assert layers(harness_for_model(registry, fake("pa", "m1"))) == ("pa", "pa:m1")
    assert layers(harness_for_model(harnesses("pa:pb:q", "pb:q"), fake("pa", "pb:q"))) == ("pa:pb:q",)
    assert layers(harness_for_model(harnesses("pb", "pb:q"), fake(None, "pb:q"))) == ("pb", "pb:q")


@pytest.mark.spec("HP-034")
def test_identifier_that_is_a_key_inherits_from_its_own_provider() -> None:
    registry = harnesses("pa", "pb", "pb:q:r")
    assert layers(harness_for_model(registry, fake("pa", "pb:q:r"))) == ("pb", "pb:q:r")


@pytest.mark.spec("HP-035")
def test_fallback_to_the_reported_provider_or_the_identifiers() -> None:
    registry = harnesses("pa", "pb")
    assert layers(harness_for_model(registry, fake("pa", "pb:q"))) == ("pa",)
    assert layers(harness_for_model(registry, fake(None, "pb:q"))) == ("pb",)


@pytest.mark.spec("HP-036")
def test_known_provider_without_a_profile_bars_the_identifiers() -> None:
    assert layers(harness_for_model(harnesses("pb"), fake("pa", "pb:q"))) == ()


@pytest.mark.spec("HP-037")
def test_bare_identifier_is_never_a_key() -> None:
    registry = harnesses("m1")
    assert layers(harness_for_model(registry, fake("nope", "m1"))) == ()
    assert layers(harness_for_model(registry, fake(None, "m1"))) == ()


@pytest.mark.spec("HP-038")
def test_provider_alone_is_enough() -> None:
    assert layers(harness_for_model(harnesses("pa"), fake("pa", None))) == ("pa",)
    assert layers(harness_for_model(harnesses("pa"), fake(None, None))) == ()


@pytest.mark.parametrize("identifier", [":x", "pa:", ":"])
def test_identifier_with_an_empty_half_names_no_provider(identifier: str) -> None:
    assert layers(harness_for_model(harnesses("pa"), fake(None, identifier))) == ()


@pytest.mark.spec("HP-039")
def test_merged_profile_is_made_once_a_version() -> None:
    registry = harnesses("pa", "pa:m1")
    first = harness_for_spec(registry, "pa:m1")
    assert harness_for_spec(registry, "pa:m1").profile is first.profile
    assert harness_for_model(registry, fake("pa", "m1")).profile is first.profile
    registry.register_harness("pa", HarnessProfile(base_system_prompt="B"))
    assert harness_for_spec(registry, "pa:m1").profile.base_system_prompt == "B"
    registry.register_provider("pa", ProviderProfile({"a": 1}))
    registry.register_provider("pa:m1", ProviderProfile({"b": 1}))
    assert provider_for_spec(registry, "pa:m1") is provider_for_spec(registry, "pa:m1")
    registry.unregister_provider("pa")
    assert provider_kwargs(registry, "pa:m1") == {"b": 1}


@pytest.mark.spec("HP-039")
@pytest.mark.parametrize("kind", ["harness", "provider"])
def test_lookups_merge_once_a_version(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from deepagents_kernel.profiles import registry as module

    merges: list[str] = []
    for name in ("merge_harness_profiles", "merge_provider_profiles"):
        real = getattr(module, name)
        counted = lambda *sides, real=real, name=name: merges.append(name) or real(*sides)  # noqa: E731
        monkeypatch.setattr(module, name, counted)
    registry = ProfileRegistry()
    if kind == "harness":
        for key in ("pa", "pa:m1", "pa:m1"):
            registry.register_harness(key, HarnessProfile(excluded_tools={key}))
        found = [harness_for_spec(registry, "pa:m1") for _ in range(50)]
        found += [harness_for_model(registry, fake("pa", "m1-20260101")) for _ in range(50)]
    else:
        for key in ("pa", "pa:m1", "pa:m1"):
            registry.register_provider(key, ProviderProfile({key: 1}))
        found = [provider_for_spec(registry, spec) for spec in ("pa:m1", "PA:m1-20260101") * 50]
    assert merges == [f"merge_{kind}_profiles"] * 2
    assert len({id(item) for item in found}) == 1
    before = registry.version
    if kind == "harness":
        registry.register_harness("pb", HarnessProfile())
        harness_for_spec(registry, "pa:m1")
    else:
        registry.register_provider("pb", ProviderProfile())
        provider_for_spec(registry, "pa:m1")
    assert registry.version == before + 1
    assert len(merges) == 4


@pytest.mark.spec("HP-040")
def test_miss_is_logged_at_debug_only(caplog: pytest.LogCaptureFixture) -> None:
    registry = harnesses("pa")
    caplog.set_level(logging.DEBUG)
    harness_for_spec(registry, "nope:m")
    harness_for_model(registry, fake("nope", "m"))
    found = [record for record in caplog.records if record.event == "harness_profile_lookup"]
    assert [record.levelname for record in found] == ["DEBUG", "DEBUG"]
    assert found[0].fields == {"spec": "nope:m", "layers": ()}


# ---- references and overlays


def test_references_compare_and_can_be_grouped() -> None:
    registry = harnesses("pa", "pa:m1")
    one, two = harness_for_spec(registry, "pa:m1"), harness_for_model(registry, fake("pa", "m1"))
    assert one == two
    assert {one: "x"}[two] == "x"
    assert one.label == "pa + pa:m1"
    assert EMPTY_PROFILE.label == ""
    assert ProfileRef(HarnessProfile()) == EMPTY_PROFILE


def test_profile_for_one_agent_is_stacked_on_the_registrys() -> None:
    registry = harnesses("pa")
    ref = harness_for_spec(registry, "pa:m")
    mine = overlay(ref, HarnessProfile(system_prompt_suffix="mine", restored_tools={"pa"}))
    other = overlay(ref, HarnessProfileConfig(excluded_tools={"ls"}), layer="profile.toml")
    assert mine.profile.system_prompt_suffix == "mine"
    assert mine.profile.excluded_tools == frozenset()
    assert (mine.key, mine.layers) == ("pa", ("pa", "profile="))
    assert other.profile.excluded_tools == {"pa", "ls"}
    assert other.layers == ("pa", "profile.toml")
    assert mine != other != ref
    assert harness_for_spec(registry, "pa:m") == ref
    bare = overlay(EMPTY_PROFILE, HarnessProfile(base_system_prompt="B"))
    assert (bare.key, bare.layers) == ("", ("profile=",))


def test_overlay_checks_the_type() -> None:
    with pytest.raises(ProfileTypeError, match="HarnessProfile"):
        overlay(EMPTY_PROFILE, {"excluded_tools": ["ls"]})


# ---- the parts of a merged profile


def test_the_parts_are_shown_with_the_plugins_that_registered_them() -> None:
    registry = ProfileRegistry()
    for owner, key in (("harness.a", "p"), ("harness.b", "p:m"), ("harness.c", "p:m")):
        with registry.owned_by(owner):
            registry.register_harness(key, HarnessProfile(excluded_tools={owner}))
    registry.register_harness("p:m", HarnessProfile())
    ref = overlay(harness_for_spec(registry, "p:m"), HarnessProfile(restored_tools={"harness.a"}))
    assert ref.layers == ("p", "p:m", "profile=")
    assert [part.label for part in ref.parts] == [
        "p (plugin harness.a)",
        "p:m (plugin harness.b)",
        "p:m (plugin harness.c)",
        "p:m",
        "profile=",
    ]
    merged = HarnessProfile()
    for part in ref.parts:
        merged = merge_harness_profiles(merged, part.profile)
    assert merged == ref.profile
    mine = overlay(ProfileRef(HarnessProfile(excluded_tools={"x"}), "p", ("p",)), HarnessProfile())
    assert [part.layer for part in mine.parts] == ["p", "profile="]


@pytest.mark.spec("HP-005")
def test_a_factory_that_fails_is_named_with_its_layer_and_its_plugin() -> None:
    def broken() -> list[Any]:
        raise KeyError("no token")

    registry = ProfileRegistry()
    registry.register_harness("p", HarnessProfile(extra_middleware=lambda: ()))
    with registry.owned_by("harness.acme"):
        registry.register_harness("p:m", HarnessProfile(extra_middleware=broken))
    ref = overlay(harness_for_spec(registry, "p:m"), HarnessProfile(extra_middleware=lambda: ()))
    with pytest.raises(KeyError) as caught:
        ref.profile.materialize_extra_middleware()
    assert caught.value.__notes__ == ["raised by the factory of the layer p:m (plugin harness.acme)"]


@pytest.mark.spec("PP-021", "PP-022")
@pytest.mark.parametrize("which", ["pre_init", "init_kwargs_factory"])
@pytest.mark.parametrize("chained", [True, False])
def test_a_provider_profile_that_fails_is_named_with_its_layer(
    which: str, chained: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: str) -> dict[str, Any]:
        raise RuntimeError("no credentials")

    later: list[str] = []
    registry = ProfileRegistry()
    with registry.owned_by("provider.acme"):
        registry.register_provider("p", ProviderProfile(**{which: broken}))
    if chained:
        above = ProviderProfile(pre_init=later.append, init_kwargs_factory=lambda: later.append("made") or {})
        registry.register_provider("p:m", above)
    with pytest.raises(RuntimeError, match="no credentials") as caught:
        provider_kwargs(registry, "p:m")
    assert caught.value.__notes__ == ["raised by the provider profile of the layer p (plugin provider.acme)"]
    errors = [record for record in caplog.records if record.levelname == "ERROR"]
    assert len(errors) == chained
    assert all(record.exc_info and record.fields["layer"] == "p (plugin provider.acme)" for record in errors)
    assert later == (["p:m"] if chained and which == "init_kwargs_factory" else [])


# ---- provider profiles


def providers(**profiles: ProviderProfile) -> ProfileRegistry:
    registry = ProfileRegistry()
    for key, profile in profiles.items():
        registry.register_provider(key.replace("__", ":"), profile)
    return registry


@pytest.mark.spec("PP-010")
def test_provider_lookup(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    registry = providers(
        p=ProviderProfile({"a": 1, "s": 1}), p__m=ProviderProfile({"s": 2}), q__m=ProviderProfile({"q": 1})
    )
    assert provider_for_spec(registry, "p:m") == ProviderProfile({"a": 1, "s": 2})
    assert provider_for_spec(registry, "p:other") == registry.provider("p")
    assert provider_for_spec(registry, "p") == registry.provider("p")
    assert provider_for_spec(registry, "q:m") == registry.provider("q:m")
    for spec in ("", ":", ":m", "p:", "nope:m", "m", None):
        assert provider_for_spec(registry, spec) is None
    found = [record for record in caplog.records if record.event == "provider_profile_lookup"]
    assert len(found) == 11
    assert {record.levelname for record in found} == {"DEBUG"}


@pytest.mark.spec("PP-011")
def test_provider_lookup_minds_case_of_the_model_alone() -> None:
    registry = providers(p__m=ProviderProfile({"a": 1}))
    assert provider_for_spec(registry, "p:M") is None
    assert provider_for_spec(registry, "P:m") == ProviderProfile({"a": 1})


@pytest.mark.spec("PP-012")
def test_precedence_of_kwargs() -> None:
    profile = ProviderProfile({"a": 1, "b": 1, "c": 1}, None, lambda: {"b": 2, "c": 2})
    assert provider_kwargs(providers(p=profile), "p:m", {"c": None, "d": 3}) == {
        "a": 1,
        "b": 2,
        "c": None,
        "d": 3,
    }


@pytest.mark.spec("PP-012")
def test_kwargs_of_the_caller_are_taken_as_they_are() -> None:
    registry = providers(p=ProviderProfile({"thinking": {"type": "enabled", "budget_tokens": 1024}}))
    assert provider_kwargs(registry, "p:m", {"thinking": {"type": "disabled"}}) == {
        "thinking": {"type": "disabled"}
    }
    with pytest.raises(ProfileTypeError, match="kwargs"):
        provider_kwargs(registry, "p:m", [("a", 1)])


@pytest.mark.spec("PP-013")
def test_check_runs_first_and_bars_the_factory() -> None:
    seen: list[str] = []
    registry = providers(p=ProviderProfile({}, seen.append, lambda: seen.append("factory") or {}))
    provider_kwargs(registry, "p:M:x")
    assert seen == ["p:M:x", "factory"]

    def refuse(spec: str) -> None:
        raise ImportError(spec)

    registry.replace_provider("p", ProviderProfile({}, refuse, lambda: seen.append("never") or {}))
    with pytest.raises(ImportError):
        provider_kwargs(registry, "p:m")
    assert "never" not in seen


@pytest.mark.spec("PP-014")
def test_check_can_be_skipped_alone() -> None:
    seen: list[str] = []
    registry = providers(p=ProviderProfile({"a": 1}, seen.append, lambda: {"f": 1}))
    assert provider_kwargs(registry, "p:m", run_pre_init=False) == {"a": 1, "f": 1}
    assert seen == []


@pytest.mark.spec("PP-015")
def test_without_a_profile_the_kwargs_are_copied() -> None:
    given = {"a": 1}
    for spec in ("nope:m", "m", "", ":"):
        result = provider_kwargs(ProfileRegistry(), spec, given)
        assert result == given
        assert result is not given
    assert provider_kwargs(ProfileRegistry(), "nope:m") == {}


@pytest.mark.spec("PP-016")
def test_each_resolution_is_fresh() -> None:
    calls: list[int] = []
    shared = {"default_headers": {"X": "1"}}
    registry = providers(p=ProviderProfile({"h": {"a": 1}}, None, lambda: calls.append(1) or shared))
    first = provider_kwargs(registry, "p:m")
    first["h"]["a"] = first["default_headers"]["X"] = "changed"
    assert provider_kwargs(registry, "p:m") == {"h": {"a": 1}, "default_headers": {"X": "1"}}
    assert len(calls) == 2


@pytest.mark.spec("PP-017")
@pytest.mark.parametrize("made", [None, [("a", 1)], "a"])
def test_factory_must_return_a_mapping(made: object) -> None:
    with pytest.raises(TypeError, match="init_kwargs_factory"):
        provider_kwargs(providers(p=ProviderProfile(init_kwargs_factory=lambda: made)), "p:m")


@pytest.mark.spec("PP-024", "PP-012")
def test_layers_are_resolved_one_by_one() -> None:
    order: list[str] = []
    registry = providers(
        p=ProviderProfile(
            {"a": 1, "s": "base"},
            lambda spec: order.append("check p"),
            lambda: order.append("factory p") or {"s": "f1", "f": 1},
        ),
        p__m=ProviderProfile(
            {"b": 2, "s": "over"},
            lambda spec: order.append("check p:m"),
            lambda: order.append("factory p:m") or {"f": 2},
        ),
    )
    assert provider_kwargs(registry, "p:m", {"b": None}) == {"a": 1, "s": "over", "b": None, "f": 2}
    assert order == ["check p", "check p:m", "factory p", "factory p:m"]


# ---- the functions over the default kernel


@pytest.fixture
def default_registry(monkeypatch: pytest.MonkeyPatch) -> tuple[ProfileRegistry, list[str]]:
    """The registry of a stand-in for the default kernel, and a record of who asked for it."""
    registry, asked = ProfileRegistry(), []

    def get_kernel() -> SimpleNamespace:
        asked.append("kernel")
        return SimpleNamespace(profiles=registry)

    api = SimpleNamespace(
        get_kernel=get_kernel,
        register_provider_profile=registry.register_provider,
        register_harness_profile=registry.register_harness,
    )
    monkeypatch.setitem(sys.modules, "deepagents_kernel.api", api)
    return registry, asked


@pytest.mark.spec("PP-010")
def test_get_provider_profile_asks_the_default_kernel(default_registry: Any) -> None:
    registry, asked = default_registry
    registry.register_provider("p", ProviderProfile({"a": 1}))
    assert get_provider_profile("p:m") == ProviderProfile({"a": 1})
    assert get_provider_profile("nope:m") is None
    assert asked == ["kernel", "kernel"]


@pytest.mark.spec("BOOT-002")
@pytest.mark.parametrize("spec", ["", ":", "p:", ":m"])
def test_malformed_spec_builds_no_kernel(default_registry: Any, spec: str) -> None:
    assert get_provider_profile(spec) is None
    assert default_registry[1] == []


@pytest.mark.spec("PP-012", "PP-014")
def test_apply_provider_profile_asks_the_default_kernel(default_registry: Any) -> None:
    seen: list[str] = []
    default_registry[0].register_provider("p", ProviderProfile({"a": 1, "b": 1}, seen.append))
    assert apply_provider_profile("p:m", {"b": None}) == {"a": 1, "b": None}
    assert apply_provider_profile("p:m", run_pre_init=False) == {"a": 1, "b": 1}
    assert seen == ["p:m"]


def test_door_finds_the_register_functions_lazily(default_registry: Any) -> None:
    import deepagents_kernel.profiles as door

    for name in ("register_provider_profile", "register_harness_profile"):
        # The door keeps what it found; the stand-in must not outlive the test.
        vars(door).pop(name, None)
        try:
            assert getattr(door, name) == getattr(sys.modules["deepagents_kernel.api"], name)
        finally:
            vars(door).pop(name, None)
