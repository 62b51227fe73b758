"""What profiles do to a plan: taking back, factories, a profile for one agent."""

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
import tiny
from langchain.agents.middleware import AgentMiddleware

from deepagents_kernel import (
    GeneralPurposeSubagentProfile,
    HarnessProfile,
    HarnessProfileConfig,
    Kernel,
    PlanError,
    make_request,
)
from deepagents_kernel.errors import PlanWarning, ProfileError, ProfileTypeError
from deepagents_kernel.profiles.files import read_profile
from deepagents_kernel.testing import ScriptedChatModel


class Extra(AgentMiddleware):
    pass


class Aliased(AgentMiddleware):
    serialized_name: ClassVar[str] = "Public"
    name = "Public"


def model(name: str = "m") -> ScriptedChatModel:
    return ScriptedChatModel(["done"], provider="here", model_name=name)


@pytest.fixture
def kernel() -> Kernel:
    return Kernel()


def warned(plan: Any) -> list[str]:
    return [problem.describe() for problem in plan.warnings]


# ---- taking back


@pytest.mark.spec("BY-081")
def test_a_model_offers_again_what_its_provider_took_away(kernel: Kernel) -> None:
    kernel.profiles.register_harness(
        "here",
        HarnessProfile(excluded_tools={"grep", "glob"}, excluded_middleware={"PatchToolCallsMiddleware"}),
    )
    taken = kernel.plan(make_request(model("other")))
    kernel.profiles.register_harness(
        "here:m",
        HarnessProfile(restored_tools={"grep"}, restored_middleware={"PatchToolCallsMiddleware"}),
    )
    given = kernel.plan(make_request(model()))
    assert "PatchToolCallsMiddleware" not in [entry.name for entry in taken.main.entries]
    assert "PatchToolCallsMiddleware" in [entry.name for entry in given.main.entries]
    assert given.main.context.profile.profile.excluded_tools == {"glob"}
    assert warned(given) == []
    assert [part.layer for part in given.main.context.profile.parts] == ["here", "here:m"]


@pytest.mark.spec("BY-082", "BY-081")
def test_a_misspelt_or_pointless_entry_is_warned_about_with_the_nearest_name(kernel: Kernel) -> None:
    kernel.profiles.register_harness(
        "here",
        HarnessProfile(excluded_tools={"grep", "glob"}, excluded_middleware={"PatchToolCallsMiddleware"}),
    )
    with kernel.profiles.owned_by("harness.acme"):
        kernel.profiles.register_harness(
            "here:m",
            HarnessProfile(
                restored_tools={"grepp", "grep", "edit_file"},
                restored_middleware={"PatchToolCalMiddleware", Extra},
            ),
        )
    plan = kernel.plan(make_request(model()))
    texts = warned(plan)
    assert len(texts) == 4
    assert all("profile here:m (plugin harness.acme)" in text for text in texts)
    assert {problem.plugin for problem in plan.warnings} == {"harness.acme"}
    assert "restored_tools" in texts[0]
    assert "'edit_file'" in texts[0]
    assert "excluded below: glob, grep" in texts[0]
    assert "'grepp'" in texts[1]
    assert "nearest: grep" in texts[1]
    assert "'PatchToolCalMiddleware'" in texts[2]
    assert "nearest: PatchToolCallsMiddleware" in texts[2]
    assert f"{__name__}.Extra" in texts[3]
    with pytest.warns(PlanWarning) as caught:
        kernel.create_deep_agent(model())
    assert {warning.filename for warning in caught} == {__file__}


@pytest.mark.spec("BY-082")
def test_order_of_layers_decides_what_is_pointless(kernel: Kernel) -> None:
    registry = kernel.profiles
    registry.register_harness("here:m", HarnessProfile(restored_tools={"grep"}))
    registry.register_harness("here:m", HarnessProfile(excluded_tools={"grep"}))
    plan = kernel.plan(make_request(model()))
    assert plan.main.context.profile.profile.excluded_tools == {"grep"}
    assert ["exclude none" in text for text in warned(plan)] == [True]
    mine = HarnessProfile(restored_tools={"grep"}, excluded_tools={"glob"})
    registry.replace_harness("here:m", HarnessProfile(excluded_tools={"grep"}))
    plan = kernel.plan(make_request(model(), profile=mine))
    assert plan.main.context.profile.profile.excluded_tools == {"glob"}
    assert warned(plan) == []
    both = HarnessProfile(restored_tools={"glob"}, excluded_tools={"glob"})
    text = "\n".join(warned(kernel.plan(make_request(model(), profile=both))))
    assert "profile profile= names 'glob'" in text


@pytest.mark.spec("BY-081")
def test_forms_meet_and_scaffolding_can_be_named(kernel: Kernel) -> None:
    kernel.profiles.register_harness("here", HarnessProfile(excluded_middleware={Aliased, "Extra"}))
    above = HarnessProfile(restored_middleware={"Public", Extra})
    plan = kernel.plan(make_request(model(), profile=above))
    assert plan.main.context.profile.profile.excluded_middleware == frozenset()
    assert warned(plan) == []
    needless = HarnessProfileConfig(restored_middleware={"FilesystemMiddleware"})
    kernel.profiles.unregister_harness("here")
    assert "'FilesystemMiddleware'" in warned(kernel.plan(make_request(model(), profile=needless)))[0]


# ---- extra middleware


def children() -> Kernel:
    return tiny.kernel({"bundle.children": tiny.children()})


@pytest.mark.spec("HP-010", "HP-025")
def test_a_factory_is_called_for_each_stack_and_a_list_is_shared() -> None:
    kernel, static = children(), Aliased()
    kernel.profiles.register_harness("here", HarnessProfile(extra_middleware=[static]))
    kernel.profiles.register_harness("here:m", HarnessProfile(extra_middleware=lambda: [Extra()]))
    plan = kernel.plan(make_request(model()))
    instances = [{entry.name: entry.instance for entry in stack.entries} for stack in plan.stacks()]
    assert len(instances) == 2
    assert instances[0]["Public"] is instances[1]["Public"] is static
    assert instances[0]["Extra"] is not instances[1]["Extra"]


@pytest.mark.spec("HP-010")
def test_a_factory_that_hands_out_one_instance_is_refused_with_the_way_out() -> None:
    kernel, one = children(), Extra()
    kernel.profiles.register_harness("here", HarnessProfile(extra_middleware=lambda: [one]))
    with pytest.raises(PlanError, match=r"(?s)profile here gave this very Extra to main.*list") as caught:
        kernel.plan(make_request(model()))
    assert [problem.stack for problem in caught.value.problems] == ["main/general-purpose"]
    kernel.profiles.replace_harness("here", HarnessProfile(extra_middleware=[one]))
    assert len(list(kernel.plan(make_request(model())).stacks())) == 2
    alone = tiny.kernel()
    alone.profiles.register_harness("here", HarnessProfile(extra_middleware=lambda: [one]))
    assert alone.plan(make_request(model())).main.entries[0].instance is one


@pytest.mark.spec("HP-005")
def test_a_factory_that_fails_is_named_in_the_plan_and_is_its_cause() -> None:
    def broken() -> list[Any]:
        raise RuntimeError("no token")

    kernel = tiny.kernel()
    kernel.profiles.register_harness("here", HarnessProfile(extra_middleware=lambda: ()))
    with kernel.profiles.owned_by("harness.acme"):
        kernel.profiles.register_harness("here:m", HarnessProfile(extra_middleware=broken))
    with pytest.raises(
        PlanError, match=r"(?s)RuntimeError: no token.*layer here:m \(plugin harness.acme\)"
    ) as caught:
        kernel.plan(make_request(model()))
    assert isinstance(caught.value.__cause__, RuntimeError)


@pytest.mark.spec("HP-005", "HP-024")
def test_a_generator_given_as_extras_reaches_every_stack() -> None:
    kernel = children()
    kernel.profiles.register_harness("here", HarnessProfile(extra_middleware=(made for made in [Extra()])))
    plan = kernel.plan(make_request(model()))
    assert [[entry.name for entry in stack.entries] for stack in plan.stacks()] == [["Extra"], ["Extra"]]


# ---- a profile for one agent


PROFILE = HarnessProfileConfig(system_prompt_suffix="Grüße", excluded_tools={"grep"}, restored_tools={"glob"})


@pytest.mark.spec("BY-080")
@pytest.mark.parametrize("kind", ["toml", "yaml", "yml", "json"])
@pytest.mark.parametrize("as_text", [True, False])
def test_a_profile_can_be_given_as_a_file(kernel: Kernel, tmp_path: Path, kind: str, as_text: bool) -> None:
    toml = 'system_prompt_suffix = "Grüße"\nexcluded_tools = ["grep"]\nrestored_tools = ["glob"]\n'
    # JSON is YAML too.
    text = toml if kind == "toml" else json.dumps(PROFILE.to_dict(), ensure_ascii=False)
    path = tmp_path / f"mine.{kind}"
    path.write_text(text, encoding="utf-8")
    kernel.profiles.register_harness("here", HarnessProfile(excluded_tools={"glob"}))
    plan = kernel.plan(make_request(model(), profile=str(path) if as_text else path))
    ref = plan.main.context.profile
    assert ref.layers == ("here", str(path))
    assert ref.profile.excluded_tools == {"grep"}
    assert plan.main.prompt.endswith("Grüße")
    assert plan.main.child("general-purpose").context.profile is ref
    assert kernel.plan(make_request(model())).main.context.profile.layers == ("here",)
    assert read_profile(path) == PROFILE


@pytest.mark.spec("BY-080")
@pytest.mark.parametrize(
    ("name", "text", "reason"),
    [
        ("gone.toml", None, "No such file"),
        ("mine.ini", "", ".toml, .yaml, .yml, .json"),
        ("mine.yaml", "[]", "expected a mapping"),
        ("mine.yaml", "excluded_tools: [", "can't be read"),
        ("mine.yml", "a: !!python/object:builtins.object {}", "can't be read"),
        ("mine.toml", "excluded_tools = [", "can't be read"),
        ("mine.json", "{", "can't be read"),
        ("mine.json", "\xff", "can't be read"),
        ("mine.json", "[]", "expected a mapping"),
        ("mine.toml", "excluded_tool = ['ls']", "nearest: excluded_tools"),
        ("mine.toml", "excluded_middleware = ['FilesystemMiddleware']", "needs it"),
    ],
)
def test_a_file_that_is_no_profile_is_named(
    kernel: Kernel, tmp_path: Path, name: str, text: str | None, reason: str
) -> None:
    path = tmp_path / name
    if text is not None:
        path.write_bytes(text.encode("latin-1"))
    with pytest.raises(ProfileError, match=reason) as caught:
        kernel.plan(make_request(model(), profile=path))
    assert name in str(caught.value)


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("ending", ["toml", "yaml", "yml", "json"])
def test_an_empty_file_is_an_empty_profile(tmp_path: Path, ending: str, text: str) -> None:
    path = tmp_path / f"p.{ending}"
    path.write_text(text, encoding="utf-8")
    assert read_profile(path) == HarnessProfileConfig()


@pytest.mark.spec("BY-080")
@pytest.mark.parametrize("profile", [3, {"excluded_tools": ["ls"]}, True, [PROFILE]])
def test_what_is_no_profile_is_refused_by_type(kernel: Kernel, profile: Any) -> None:
    with pytest.raises(ProfileTypeError, match="HarnessProfile"):
        kernel.plan(make_request(model(), profile=profile))


# ---- the general-purpose sub-agent


@pytest.mark.spec("HP-004")
@pytest.mark.parametrize("enabled", [False, True, None])
def test_a_callers_own_general_purpose_agent_stands_whatever_the_profile_says(
    kernel: Kernel, enabled: bool | None
) -> None:
    profile = HarnessProfile(general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=enabled))
    kernel.profiles.register_harness("here", profile)
    own = {"name": "general-purpose", "description": "Ours.", "system_prompt": "You are ours."}
    plan = kernel.plan(make_request(model(), subagents=[own]))
    assert [stack.path for stack in plan.stacks()] == ["main", "main/general-purpose"]
    assert plan.main.child("general-purpose").context.spec["description"] == "Ours."
    without = kernel.plan(make_request(model()))
    assert ("main/general-purpose" in [stack.path for stack in without.stacks()]) is (enabled is not False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", '{"system_prompt_suffix": "a", "system_prompt_suffix": "b"}'),
        ("p.yaml", "system_prompt_suffix: a\nsystem_prompt_suffix: b\n"),
        ("p.toml", 'system_prompt_suffix = "a"\nsystem_prompt_suffix = "b"\n'),
        ("p.yml", "? [a, b]\n: c\n"),
    ],
)
def test_a_key_that_is_there_twice_or_is_none_is_an_error(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match=name):
        read_profile(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("p.json", "[" * 100_000),
        ("p.toml", "x = " + "[" * 100_000),
        ("p.yaml", "[" * 5_000),
    ],
)
def test_a_file_that_is_nested_too_deeply_is_named(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ProfileError, match=f"{name}.*can't be read: it is nested too deeply"):
        read_profile(tmp_path / name)
