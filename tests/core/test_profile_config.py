"""``HarnessProfileConfig``: to plain data and back, to a profile and back."""

import json
from typing import ClassVar

import pytest
from langchain.agents.middleware.types import AgentMiddleware

from deepagents_kernel.errors import ProfileError, ProfileTypeError
from deepagents_kernel.profiles.config import HarnessProfileConfig
from deepagents_kernel.profiles.harness import GeneralPurposeSubagentProfile, HarnessProfile
from deepagents_kernel.profiles.merging import merge_harness_profiles

GP = GeneralPurposeSubagentProfile

FULL = HarnessProfileConfig(
    base_system_prompt="",
    system_prompt_suffix="S",
    tool_description_overrides={"ls": "list"},
    excluded_tools={"grep", "glob"},
    excluded_middleware={"B", "A"},
    general_purpose_subagent=GP(enabled=False, description=""),
    restored_tools={"execute"},
    restored_middleware={"Y", "X"},
)


class Plain(AgentMiddleware):
    pass


class _Private(AgentMiddleware):
    serialized_name: ClassVar[str] = "Public"
    name = "Public"


class ReportedByDefault(AgentMiddleware):
    serialized_name: ClassVar[str] = "ReportedByDefault"


class WrongAlias(AgentMiddleware):
    serialized_name: ClassVar[str] = "SomethingElse"


class WrongAliasForName(AgentMiddleware):
    serialized_name: ClassVar[str] = "WrongAliasForName"
    name = "Other"


@pytest.mark.spec("HP-060")
def test_to_dict_omits_defaults_keeps_empty_text_and_sorts() -> None:
    assert HarnessProfileConfig().to_dict() == {}
    data = FULL.to_dict()
    assert data == {
        "base_system_prompt": "",
        "system_prompt_suffix": "S",
        "tool_description_overrides": {"ls": "list"},
        "excluded_tools": ["glob", "grep"],
        "excluded_middleware": ["A", "B"],
        "restored_tools": ["execute"],
        "restored_middleware": ["X", "Y"],
        "general_purpose_subagent": {"enabled": False, "description": ""},
    }
    assert HarnessProfileConfig(general_purpose_subagent=GP()).to_dict() == {"general_purpose_subagent": {}}


@pytest.mark.spec("HP-061")
@pytest.mark.parametrize("overrides", [{3: "x"}, {"ls": 3}])
def test_what_could_not_be_written_is_refused_at_construction(overrides: dict) -> None:
    with pytest.raises(TypeError, match="tool_description_overrides"):
        HarnessProfileConfig(tool_description_overrides=overrides)
    with pytest.raises(TypeError, match="excluded_tools"):
        HarnessProfileConfig(excluded_tools={"a", 1})


@pytest.mark.spec("HP-062")
@pytest.mark.parametrize(
    "config", [FULL, HarnessProfileConfig(), HarnessProfileConfig(general_purpose_subagent=GP())]
)
def test_round_trip_through_json(config: HarnessProfileConfig) -> None:
    assert HarnessProfileConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


@pytest.mark.spec("HP-062")
def test_to_dict_is_made_of_plain_types() -> None:
    def types(value: object) -> set[type]:
        inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return {type(value)}.union(*(types(item) for item in inner))

    assert types(FULL.to_dict()) == {dict, list, str, bool}


@pytest.mark.spec("HP-063")
def test_none_means_unset_and_unknown_keys_are_listed() -> None:
    names = [attribute.name for attribute in HarnessProfileConfig.__attrs_attrs__]
    assert HarnessProfileConfig.from_dict(dict.fromkeys(names)) == HarnessProfileConfig()
    with pytest.raises(TypeError, match="'exclude_tools', 'extra_middleware'") as caught:
        HarnessProfileConfig.from_dict({"extra_middleware": [], "exclude_tools": []})
    assert "nearest: excluded_tools" in str(caught.value)


@pytest.mark.spec("HP-064")
@pytest.mark.parametrize(
    "field", ["excluded_tools", "excluded_middleware", "restored_tools", "restored_middleware"]
)
def test_set_fields_take_any_list_of_strings(field: str) -> None:
    for given in (["A"], ("A",), {"A"}, frozenset({"A"})):
        assert getattr(HarnessProfileConfig.from_dict({field: given}), field) == frozenset({"A"})
    for wrong in ("execute", {"A": 1}, 3, [1], [None]):
        with pytest.raises(ProfileTypeError, match=field):
            HarnessProfileConfig.from_dict({field: wrong})


@pytest.mark.spec("HP-065")
@pytest.mark.parametrize(
    "value", ["no", [], False, {"enabled": 1}, {"enabled": "yes"}, {"descripton": "x"}, {"system_prompt": 3}]
)
def test_general_purpose_table_is_checked(value: object) -> None:
    with pytest.raises(ProfileTypeError):
        HarnessProfileConfig.from_dict({"general_purpose_subagent": value})


@pytest.mark.spec("HP-065")
def test_general_purpose_round_trip() -> None:
    for profile in (GP(), GP(enabled=True), GP(enabled=False, description="", system_prompt="p")):
        assert GP.from_dict(profile.to_dict()) == profile
    assert GP.from_dict({"enabled": None, "description": None}) == GP()
    with pytest.raises(ProfileTypeError, match="'descripton'") as caught:
        GP.from_dict({"descripton": "x"})
    assert "nearest: description" in str(caught.value)


@pytest.mark.spec("HP-066")
@pytest.mark.parametrize("document", [None, [], "text", 3])
def test_document_that_is_no_mapping_is_refused(document: object) -> None:
    with pytest.raises(ProfileTypeError, match="expected a mapping"):
        HarnessProfileConfig.from_dict(document)


@pytest.mark.spec("HP-067")
def test_to_harness_profile_loses_nothing() -> None:
    profile = FULL.to_harness_profile()
    assert isinstance(profile, HarnessProfile)
    for attribute in HarnessProfileConfig.__attrs_attrs__:
        assert getattr(profile, attribute.name) == getattr(FULL, attribute.name)
    assert HarnessProfileConfig.from_harness_profile(profile) == FULL


@pytest.mark.spec("HP-068")
def test_profile_with_extras_can_not_be_exported() -> None:
    for given in ([Plain()], list):
        with pytest.raises(ValueError, match="extra_middleware"):
            HarnessProfileConfig.from_harness_profile(HarnessProfile(extra_middleware=given))
    kept = HarnessProfileConfig.from_harness_profile(HarnessProfile(excluded_middleware={"Any", "Name"}))
    assert kept.excluded_middleware == {"Any", "Name"}


@pytest.mark.spec("HP-069")
def test_export_of_merged_profiles() -> None:
    empty, full = HarnessProfile(excluded_tools=["a"]), HarnessProfile(extra_middleware=[Plain()])
    exported = HarnessProfileConfig.from_harness_profile(merge_harness_profiles(empty, empty))
    assert exported.excluded_tools == {"a"}
    with pytest.raises(ProfileError):
        HarnessProfileConfig.from_harness_profile(merge_harness_profiles(full, full))


@pytest.mark.spec("EXC-040")
def test_class_is_exported_by_its_alias() -> None:
    exported = HarnessProfileConfig.from_harness_profile(
        HarnessProfile(
            excluded_middleware={_Private, ReportedByDefault, "Other"}, restored_middleware={_Private}
        )
    )
    assert exported.excluded_middleware == {"Public", "ReportedByDefault", "Other"}
    assert exported.restored_middleware == {"Public"}


@pytest.mark.spec("EXC-041")
def test_class_without_alias_can_not_be_exported() -> None:
    other = type("Zeta", (AgentMiddleware,), {})
    with pytest.raises(ProfileError) as caught:
        HarnessProfileConfig.from_harness_profile(HarnessProfile(excluded_middleware={other, Plain}))
    text = str(caught.value)
    assert text.index("Plain") < text.index("Zeta")
    assert "by name" in text
    assert "serialized_name" in text


@pytest.mark.spec("EXC-043")
@pytest.mark.parametrize("cls", [WrongAlias, WrongAliasForName])
def test_alias_that_is_not_the_name_is_refused(cls: type) -> None:
    with pytest.raises(ProfileError, match=cls.__name__):
        HarnessProfileConfig.from_harness_profile(HarnessProfile(excluded_middleware={cls}))


@pytest.mark.spec("EXC-043")
def test_subclass_that_is_named_otherwise_does_not_inherit_the_alias() -> None:
    class Sub(ReportedByDefault):
        pass

    with pytest.raises(ProfileError, match="Sub"):
        HarnessProfileConfig.from_harness_profile(HarnessProfile(excluded_middleware={Sub}))
