"""One model, many ways to name it: bare, spelled otherwise, dated, as a string, as an object."""

from typing import Any

import pytest
import tiny
from langchain.chat_models import base as host
from langchain_anthropic import ChatAnthropic
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from deepagents_kernel import HarnessProfile, Kernel, ProviderProfile, make_request
from deepagents_kernel.errors import ModelSpecError, ModelTypeError, PlanError, ProfileError
from deepagents_kernel.models import model_matches_spec
from deepagents_kernel.profiles import names
from deepagents_kernel.profiles.lookup import harness_for_model, harness_for_spec, provider_kwargs
from deepagents_kernel.profiles.registry import ProfileRegistry
from deepagents_kernel.testing import ScriptedChatModel

PROVIDERS = sorted(host._BUILTIN_PROVIDERS)


def harnesses(*keys: str) -> ProfileRegistry:
    registry = ProfileRegistry()
    for key in keys:
        registry.register_harness(key, HarnessProfile(excluded_tools={key}))
    return registry


def by_spec(registry: ProfileRegistry, spec: str) -> tuple[str, ...]:
    ref = harness_for_spec(registry, spec)
    assert ref.profile.excluded_tools == set(ref.layers)
    return ref.layers


def by_model(registry: ProfileRegistry, provider: str, name: str) -> tuple[str, ...]:
    model = ScriptedChatModel(["x"], provider=provider, model_name=name)
    return harness_for_model(registry, model).layers


# ---- the table


@pytest.mark.spec("MOD-006")
@pytest.mark.parametrize("start", names._BY_START)
@pytest.mark.parametrize("rest", ["", "x", "-5", "ABC", ":0"])
def test_the_table_says_what_the_installed_langchain_infers(start: str, rest: str) -> None:
    # Publicly LangChain tells what it infers by constructing the model only, so the function behind is asked.
    name = start + rest
    if name not in names._PROVIDERS:
        assert names.inferred_provider(name) == host._attempt_infer_model_provider(name)
        assert names.inferred_provider(name.upper()) == host._attempt_infer_model_provider(name.upper())


@pytest.mark.spec("MOD-006")
def test_the_table_has_every_start_that_langchain_knows() -> None:
    """The starts stand in the code of LangChain's function as constants."""
    constants: list[str] = []
    pending = [host._attempt_infer_model_provider.__code__]
    while pending:
        for constant in pending.pop().co_consts:
            if hasattr(constant, "co_consts"):
                pending.append(constant)
            else:
                constants += constant if isinstance(constant, tuple) else [constant]
    texts = {text for text in constants if isinstance(text, str) and len(text) < 25}
    known = {text for text in texts if host._attempt_infer_model_provider(text) not in (None, text)}
    assert len(known) > 10
    assert known <= set(names._BY_START)


@pytest.mark.spec("MOD-006")
@pytest.mark.parametrize("provider", PROVIDERS)
def test_the_name_of_a_provider_is_no_models(provider: str) -> None:
    assert names.inferred_provider(provider) is None
    assert names.read_name(provider) == (provider, None)
    assert names.read_name(f"{provider}:gpt-5.4") == (provider, "gpt-5.4")


@pytest.mark.parametrize("name", ["", "llama3", "us.anthropic.claude-sonnet-4-6", "offline"])
def test_other_names_have_no_provider(name: str) -> None:
    assert names.inferred_provider(name) is None
    assert host._attempt_infer_model_provider(name) is None


def test_the_version_of_a_bedrock_identifier_belongs_to_its_name() -> None:
    identifier = "anthropic.claude-opus-4-7-v1:0"
    assert names.read_name(identifier) == ("bedrock", identifier)
    assert names.read_name("proxy.example:m") == ("proxy.example", "m")
    assert names.read_name("gpt-5.4:m") == ("gpt-5.4", "m")
    keys = ("bedrock", f"bedrock:{identifier}")
    assert by_spec(harnesses(*keys), identifier) == keys
    assert by_model(harnesses(*keys), "amazon_bedrock", identifier) == keys


@pytest.mark.spec("MOD-007")
@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ("claude-sonnet-4-6-20260101", "claude-sonnet-4-6"),
        ("gpt-5.4-2026-03-05", "gpt-5.4"),
        ("claude-sonnet-4-5@20250929", "claude-sonnet-4-5"),
        ("mistral-large-latest", "mistral-large"),
        ("gpt-5.4", "gpt-5.4"),
        ("claude-20260101-x", "claude-20260101-x"),
        ("m-20261301", "m-20261301"),
        ("m-20260132", "m-20260132"),
        ("m-2026-0101", "m-2026-0101"),
        ("m20260101", "m20260101"),
        ("m-1620260101", "m-1620260101"),
        ("gpt-4-0613", "gpt-4-0613"),
        ("-latest", "-latest"),
        ("m-latest\n", "m-latest\n"),
    ],
)
def test_the_day_of_a_release_is_recognised(model: str, expected: str) -> None:
    assert names.undated(model) == expected


# ---- lookups


@pytest.mark.spec("MOD-006")
def test_a_bare_name_has_the_profiles_of_its_provider_and_its_model() -> None:
    registry = harnesses("openai", "openai:gpt-5.4", "anthropic")
    assert by_spec(registry, "gpt-5.4") == ("openai", "openai:gpt-5.4")
    assert by_spec(registry, "gpt-5") == ("openai",)
    assert by_spec(registry, "claude-sonnet-4-6") == ("anthropic",)
    assert by_spec(registry, "llama3") == ()


@pytest.mark.spec("MOD-006")
def test_a_key_may_be_a_bare_name_too() -> None:
    for key in ("gpt-5.4", "openai:gpt-5.4"):
        registry = harnesses("openai", key)
        for spec in ("gpt-5.4", "openai:gpt-5.4", "openai:gpt-5.4-2026-03-05"):
            assert by_spec(registry, spec) == ("openai", key)
        assert by_model(registry, "openai", "gpt-5.4") == ("openai", key)
        assert by_model(registry, "azure", "gpt-5.4") == ()


def test_a_provider_that_is_called_like_a_model_has_its_key() -> None:
    registry = harnesses("solaris", "upstage")
    assert by_spec(registry, "solaris:m") == ("solaris",)
    assert by_model(registry, "solaris", "m") == ("solaris",)
    registry.unregister_harness("upstage")
    assert by_spec(registry, "solaris:m") == ("solaris",)


@pytest.mark.spec("MOD-007")
def test_a_dated_name_falls_back_to_the_undated_key_after_its_own() -> None:
    dated = "anthropic:claude-sonnet-4-6-20260101"
    registry = harnesses("anthropic", "anthropic:claude-sonnet-4-6")
    undated = ("anthropic", "anthropic:claude-sonnet-4-6")
    for spec in (dated, "claude-sonnet-4-6-20260101", "claude-sonnet-4-6-latest"):
        assert by_spec(registry, spec) == undated
    assert by_model(registry, "anthropic", "claude-sonnet-4-6-20260101") == undated
    registry.register_harness(dated, HarnessProfile(excluded_tools={dated}))
    assert by_spec(registry, dated) == ("anthropic", dated)
    assert by_spec(registry, "anthropic:claude-sonnet-4-6-20260202") == undated
    assert by_spec(harnesses(dated), "anthropic:claude-sonnet-4-6") == ()


@pytest.mark.spec("MOD-007", "HP-033")
def test_an_identifier_that_is_a_key_falls_back_to_its_undated_form() -> None:
    assert by_model(harnesses("pb", "pb:q"), "pa", "pb:q-20260101") == ("pb", "pb:q")
    assert by_model(harnesses("pa:pb:q", "pb:q-20260101"), "pa", "pb:q-20260101") == ("pa:pb:q",)


@pytest.mark.spec("MOD-026", "PP-011")
@pytest.mark.parametrize(
    ("key", "spec"),
    [
        ("azure_openai", "azure:gpt-5.4"),
        ("azure", "azure_openai:gpt-5.4"),
        ("mistralai:m", "mistral:m"),
        ("google-genai:m", "google_genai:m"),
        ("NVIDIA", "nvidia:m"),
        ("openai:m", "OpenAI:m"),
    ],
)
def test_spellings_of_a_provider_are_one_key(key: str, spec: str) -> None:
    assert by_spec(harnesses(key), spec) == (key,)
    provider, _, model = spec.partition(":")
    assert by_model(harnesses(key), provider, model) == (key,)
    registry = ProfileRegistry()
    registry.register_provider(key, ProviderProfile({"a": 1}))
    assert provider_kwargs(registry, spec) == {"a": 1}


@pytest.mark.spec("PP-011")
def test_the_name_of_a_model_minds_case() -> None:
    assert by_spec(harnesses("openai:GPT-5.4"), "openai:gpt-5.4") == ()
    assert by_model(harnesses("openai:GPT-5.4"), "openai", "gpt-5.4") == ()


@pytest.mark.spec("MOD-026", "PP-027")
def test_a_key_is_found_changed_and_removed_in_any_spelling() -> None:
    registry = harnesses("azure_openai:m")
    registry.register_harness("Azure:m", HarnessProfile(system_prompt_suffix="S"))
    assert registry.harness_keys() == ["azure_openai:m"]
    assert registry.harness("azure:m") == HarnessProfile(
        excluded_tools={"azure_openai:m"}, system_prompt_suffix="S"
    )
    assert len(registry.layers("harness", "azure:m")) == 2
    registry.replace_harness("azure:m", HarnessProfile())
    assert registry.harness("azure_openai:m") == HarnessProfile()
    registry.unregister_harness("AZURE-OPENAI:m")
    assert registry.harness_keys() == []
    assert by_spec(registry, "azure:m") == ()
    with pytest.raises(ProfileError, match="azure:m"):
        registry.unregister_harness("azure:m")


def test_two_ways_to_construct_a_bedrock_model_are_one_provider_to_agents_and_two_to_constructors() -> None:
    registry = harnesses("bedrock:m")
    assert by_spec(registry, "bedrock_converse:m") == ("bedrock:m",)
    assert by_model(registry, "amazon_bedrock", "m") == ("bedrock:m",)
    registry.register_provider("bedrock", ProviderProfile({"a": 1}))
    assert provider_kwargs(registry, "bedrock_converse:m") == {}
    assert model_matches_spec(ScriptedChatModel("x", provider="amazon_bedrock", model_name="m"), "bedrock:m")


@pytest.mark.spec("MOD-026", "HP-033")
@pytest.mark.parametrize(
    ("spec", "model"),
    [
        ("openai:gpt-5.4", lambda: ChatOpenAI(model="gpt-5.4", api_key="k")),
        ("gpt-5.4-2026-03-05", lambda: ChatOpenAI(model="gpt-5.4-2026-03-05", api_key="k")),
        ("claude-sonnet-4-6", lambda: ChatAnthropic(model_name="claude-sonnet-4-6", api_key="k")),
        (
            "azure_openai:gpt-5.4",
            lambda: AzureChatOpenAI(
                model="gpt-5.4",
                azure_deployment="d",
                api_version="v",
                azure_endpoint="https://x",
                api_key="k",
            ),
        ),
    ],
)
def test_a_string_and_the_real_model_made_from_it_have_one_profile(spec: str, model: Any) -> None:
    registry = harnesses(
        "openai:gpt-5.4", "anthropic", "anthropic:claude-sonnet-4-6", "azure", "azure:gpt-5.4"
    )
    assert (
        harness_for_model(registry, model())
        == harness_for_spec(registry, spec)
        != harness_for_spec(registry, "x:y")
    )


# ---- in plans


@pytest.mark.spec("MOD-006", "PP-013")
def test_checks_and_hooks_get_the_string_as_it_was_written(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    seen: dict[str, Any] = {}
    watcher = tiny.plugin(
        deepagents_model_resolved=lambda spec, model: seen.update(hook=spec),
        deepagents_provider_profiles=lambda: [
            ("openai", ProviderProfile(pre_init=lambda spec: seen.update(check=spec))),
            ("openai:gpt-5.4", ProviderProfile({"max_retries": 7})),
        ],
        deepagents_harness_profiles=lambda: [("openai:gpt-5.4", HarnessProfile(system_prompt_suffix="S"))],
    )
    plan = Kernel({"bundle.watch": watcher}).plan(make_request("gpt-5.4-2026-03-05"))
    context = plan.main.context
    assert seen == {"hook": "gpt-5.4-2026-03-05", "check": "gpt-5.4-2026-03-05"}
    assert context.model_spec == "gpt-5.4-2026-03-05"
    assert context.model.model_name == "gpt-5.4-2026-03-05"
    assert context.model.max_retries == 7
    assert context.profile.layers == ("openai:gpt-5.4",)
    assert plan.main.prompt == "S"


@pytest.mark.spec("MOD-006", "MOD-007")
def test_sub_agents_on_one_model_named_in_several_ways_share_its_profile() -> None:
    answers = tiny.plugin(deepagents_resolve_model=lambda spec: ScriptedChatModel([spec]))
    kernel = tiny.kernel({"model.any": answers, "bundle.children": tiny.children()})
    kernel.profiles.register_harness("openai:gpt-5.4", HarnessProfile(system_prompt_suffix="S"))
    written = ["gpt-5.4", "openai:gpt-5.4", "OpenAI:gpt-5.4-2026-03-05"]
    specs = [{"name": f"a{n}", "description": "d", "model": spec} for n, spec in enumerate(written)]
    plan = kernel.plan(tiny.request(subagents=specs))
    refs = [plan.stack(f"main/a{n}").context.profile for n in range(3)]
    assert refs[0] is refs[1] is refs[2]
    assert refs[0].layers == ("openai:gpt-5.4",)
    assert [plan.stack(f"main/a{n}").context.model_spec for n in range(3)] == written


# ---- what is no model


@pytest.mark.spec("MOD-008")
@pytest.mark.parametrize("model", [3, ["openai:gpt-5.4"], b"openai:gpt-5.4", ScriptedChatModel, object()])
def test_what_is_neither_string_nor_chat_model_is_refused_by_type(model: Any) -> None:
    kernel = tiny.kernel()
    with pytest.raises(ModelTypeError, match="chat model") as caught:
        kernel.plan(make_request(model))
    assert isinstance(caught.value, TypeError)
    children = tiny.kernel({"bundle.children": tiny.children()})
    with pytest.raises(PlanError, match="main/a") as caught_below:
        children.plan(tiny.request(subagents=[{"name": "a", "description": "d", "model": model}]))
    assert isinstance(caught_below.value.__cause__, ModelTypeError)


@pytest.mark.spec("MOD-008", "MOD-009")
@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("", "no model is named"),
        (" ", "no model is named"),
        ("nope:m", "no provider is named 'nope'"),
        ("openai:", "model"),
    ],
)
def test_a_string_that_names_no_model_says_so(spec: str, reason: str) -> None:
    with pytest.raises(ModelSpecError, match=reason):
        Kernel().plan(make_request(spec))


@pytest.mark.spec("MOD-008")
def test_a_bound_model_has_the_profile_of_the_one_within() -> None:
    kernel = tiny.kernel()
    kernel.profiles.register_harness("openai:gpt-5.4", HarnessProfile(system_prompt_suffix="S"))
    model = ScriptedChatModel(["x"], provider="openai", model_name="gpt-5.4").bind(stop=["y"])
    plan = kernel.plan(make_request(model))
    assert plan.main.context.model is model
    assert plan.main.context.profile.layers == ("openai:gpt-5.4",)


@pytest.mark.spec("MOD-008")
def test_a_sub_agent_whose_model_is_none_has_its_parents() -> None:
    kernel = tiny.kernel({"bundle.children": tiny.children()})
    plan = kernel.plan(tiny.request(subagents=[{"name": "a", "description": "d", "model": None}]))
    assert plan.stack("main/a").context.model is plan.main.context.model
