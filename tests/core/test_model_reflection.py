"""What can be told about a model by looking at it."""

from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel, FakeListChatModel
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from deepagents_kernel.models import (
    get_model_identifier,
    get_model_provider,
    is_bedrock_model,
    model_matches_spec,
    unwrap_model,
)


class Reporting(FakeListChatModel):
    """A model that reports what it is told to."""

    responses: list[str] = ["x"]
    model_name: Any = None
    model: Any = None
    params: Any = None

    def _get_ls_params(self, stop: Any = None, **kwargs: Any) -> Any:
        if isinstance(self.params, Exception):
            raise self.params
        return self.params


def reporting(name: str | None = "m", provider: Any = "acme") -> Reporting:
    return Reporting(model_name=name, params={"ls_provider": provider})


class ChatBedrockConverse(Reporting):
    pass


class Tuned(ChatBedrockConverse):
    pass


class TestIdentifier:
    @pytest.mark.spec("MOD-020")
    @pytest.mark.parametrize(
        ("model_name", "model", "expected"),
        [
            ("a", "b", "a"),
            ("", "b", "b"),
            (None, "b", "b"),
            (3, "b", "b"),
            ("", "", None),
            (None, None, None),
        ],
    )
    def test_model_name_comes_before_model(self, model_name, model, expected):
        assert get_model_identifier(Reporting(model_name=model_name, model=model)) == expected

    @pytest.mark.spec("MOD-020")
    @pytest.mark.parametrize(("given", "expected"), [("m-v1:0", "m-v1:0"), ("", None), (3, None)])
    def test_a_model_that_has_only_an_id_goes_by_it(self, given, expected):
        class ById(FakeListChatModel):
            responses: list[str] = ["x"]
            model_id: Any = given

        assert get_model_identifier(ById()) == expected

    @pytest.mark.spec("MOD-020")
    def test_real_models(self):
        assert get_model_identifier(ChatOpenAI(model="gpt-5.4", api_key="k")) == "gpt-5.4"
        assert (
            get_model_identifier(ChatAnthropic(model_name="claude-sonnet-4-6", api_key="k"))
            == "claude-sonnet-4-6"
        )
        assert get_model_identifier(object()) is None

    @pytest.mark.spec("MOD-020", "MOD-023")
    def test_a_bound_model_is_looked_into(self):
        model = ChatOpenAI(model="gpt-5.4", api_key="k")
        bound = model.bind(stop=["x"]).with_config(tags=["t"])
        assert unwrap_model(bound) is model
        assert unwrap_model(model) is model
        assert get_model_identifier(bound) == "gpt-5.4"
        assert get_model_provider(bound) == "openai"
        assert is_bedrock_model(ChatBedrockConverse().bind(stop=["x"]))


class TestProvider:
    @pytest.mark.spec("MOD-021")
    def test_it_is_what_the_model_reports(self):
        assert get_model_provider(ChatOpenAI(model="m", api_key="k")) == "openai"
        assert get_model_provider(ChatAnthropic(model_name="m", api_key="k")) == "anthropic"

    @pytest.mark.spec("MOD-021")
    @pytest.mark.parametrize(
        "params", [AttributeError("a"), TypeError("t"), NotImplementedError("n"), None, ["x"], "openai"]
    )
    def test_an_unreadable_one_is_logged_as_information(self, params, caplog):
        caplog.set_level(logging.DEBUG, logger="deepagents_kernel")
        assert get_model_provider(Reporting(params=params)) is None
        (record,) = caplog.records
        assert record.levelno == logging.INFO
        assert record.fields["model_class"] == "Reporting"

    @pytest.mark.spec("MOD-021")
    @pytest.mark.parametrize("provider", ["", None, 3, ["openai"]])
    def test_an_empty_or_odd_one_is_none_without_a_log(self, provider, caplog):
        caplog.set_level(logging.DEBUG, logger="deepagents_kernel")
        assert get_model_provider(reporting(provider=provider)) is None
        assert get_model_provider(Reporting(params={})) is None
        assert caplog.records == []

    @pytest.mark.spec("MOD-021")
    def test_an_object_without_parameters_has_none(self):
        assert get_model_provider(object()) is None

    @pytest.mark.spec("MOD-022")
    @pytest.mark.parametrize("error", [RuntimeError("r"), ValueError("v")])
    def test_other_errors_are_the_callers(self, error):
        with pytest.raises(type(error), match=str(error)):
            get_model_provider(Reporting(params=error))


class TestMatching:
    @pytest.mark.spec("MOD-023")
    @pytest.mark.parametrize(
        ("spec", "matches"),
        [
            ("acme:m", True),
            ("m", True),
            ("acme:n", False),
            ("other:m", False),
            ("acme", False),
            ("", False),
            ("x:acme:m", False),
        ],
    )
    def test_identifier_alone_or_behind_its_provider(self, spec, matches):
        assert model_matches_spec(reporting(), spec) is matches

    @pytest.mark.spec("MOD-023")
    def test_the_first_colon_divides(self):
        model = reporting(name="us.amazon.nova-pro-v1:0", provider="bedrock_converse")
        assert model_matches_spec(model, "us.amazon.nova-pro-v1:0")
        assert model_matches_spec(model, "bedrock_converse:us.amazon.nova-pro-v1:0")
        assert not model_matches_spec(model, "other:us.amazon.nova-pro-v1:0")

    @pytest.mark.spec("MOD-023")
    def test_a_model_without_a_name_matches_nothing(self):
        assert not model_matches_spec(reporting(name=None), "acme:m")
        assert not model_matches_spec(reporting(name=None), "")

    @pytest.mark.spec("MOD-024")
    def test_an_unknown_provider_is_not_held_against_it(self, caplog):
        caplog.set_level(logging.DEBUG, logger="deepagents_kernel")
        assert model_matches_spec(reporting(provider=None), "acme:m")
        assert [record.levelno for record in caplog.records] == [logging.DEBUG]
        assert not model_matches_spec(reporting(provider=None), "acme:n")

    @pytest.mark.spec("MOD-025")
    @pytest.mark.parametrize(
        ("reported", "wanted"),
        [
            ("acme", "ACME"),
            ("Google-GenAI", "google_genai"),
            ("azure", "azure_openai"),
            ("azure_openai", "azure"),
            ("azure", "Azure-OpenAI"),
            ("mistral", "mistralai"),
        ],
    )
    def test_spellings_of_one_provider_are_equal(self, reported, wanted):
        assert model_matches_spec(reporting(provider=reported), f"{wanted}:m")
        assert not model_matches_spec(reporting(provider=reported), f"{wanted}x:m")

    @pytest.mark.spec("MOD-025")
    def test_a_real_azure_model(self):
        model = AzureChatOpenAI(
            model="gpt-5.4", azure_deployment="d", api_version="v", azure_endpoint="https://x", api_key="k"
        )
        assert model_matches_spec(model, "azure_openai:gpt-5.4")
        assert not model_matches_spec(model, "openai:gpt-5.4")


class TestBedrock:
    @pytest.mark.spec("MOD-027")
    @pytest.mark.parametrize(
        "region", ["", "apac.", "amer.", "au.", "eu.", "global.", "jp.", "sa.", "us.", "us-gov."]
    )
    def test_nova_in_any_region(self, region):
        assert is_bedrock_model(f"{region}amazon.nova-pro-v1:0")

    @pytest.mark.spec("MOD-027")
    @pytest.mark.parametrize(
        "provider",
        ["amazon_bedrock", "anthropic_bedrock", "aws", "bedrock", "bedrock_converse", "Bedrock-Converse"],
    )
    def test_its_providers(self, provider):
        assert is_bedrock_model(f"{provider}:anthropic.claude")

    @pytest.mark.spec("MOD-027")
    @pytest.mark.parametrize(
        "spec",
        [
            "bedrock",
            "aws",
            "",
            "openai:gpt-5.4",
            "mars.amazon.nova-pro",
            "x-amazon.nova-pro",
            "amazon.titan",
            "openrouter:amazon.nova-pro",
        ],
    )
    def test_others(self, spec):
        assert not is_bedrock_model(spec)

    @pytest.mark.spec("MOD-028")
    def test_instances_by_provider_or_class(self):
        assert is_bedrock_model(reporting(provider="Amazon-Bedrock"))
        assert is_bedrock_model(ChatBedrockConverse(params={"ls_provider": "other"}))
        assert is_bedrock_model(Tuned())
        assert not is_bedrock_model(reporting())
        assert not is_bedrock_model(reporting(provider=None))

    @pytest.mark.spec("MOD-028")
    @pytest.mark.parametrize(
        "name", ["ChatAnthropicBedrock", "ChatBedrock", "ChatBedrockConverse", "ChatBedrockNovaSonic"]
    )
    def test_class_names(self, name):
        cls = type(name, (BaseChatModel,), {"__module__": __name__, "_llm_type": "x", "_generate": None})
        assert is_bedrock_model(cls())


@pytest.mark.spec("MOD-020")
def test_the_module_brings_no_langchain_along():
    code = (
        "import sys, deepagents_kernel.models, deepagents_kernel.contracts.subagents\n"
        "print([name for name in sys.modules if name.startswith(('langchain', 'langgraph', 'pydantic'))])"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert result.stdout.strip() == "[]"
