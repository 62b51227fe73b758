"""Model strings that LangChain's providers answer to."""

import importlib.util

import pytest
from langchain_openai import ChatOpenAI

from deepagents_builtin.models.init_chat_model.settings import InitChatModelSettings
from deepagents_builtin.models.offline.model import OfflineChatModel
from deepagents_kernel._builtin import BuiltinTable
from deepagents_kernel.errors import ModelPackageError, ModelSpecError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.provider import ProviderProfile
from deepagents_kernel.testing import ScriptedChatModel

# Given in the wrong order: it must be the last to be asked all the same.
MODELS = BuiltinTable(
    plugins={
        f"model.{name}": f"deepagents_builtin.models.{name.replace('-', '_')}.plugin"
        for name in ("init-chat-model", "offline", "scripted")
    }
)


def with_settings(**values):
    return Kernel(builtins=MODELS, settings={"model.init-chat-model": values})


@pytest.fixture(autouse=True)
def dummy_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")


@pytest.fixture
def kernel():
    return Kernel(builtins=MODELS)


def resolve(spec, kernel):
    return kernel.resolve_model(spec)


@pytest.mark.spec("MOD-002")
def test_a_string_becomes_a_model_with_the_arguments_of_its_provider_profile(kernel):
    kernel.profiles.register_provider("openai", ProviderProfile(init_kwargs={"max_retries": 7, "top_p": 0.5}))
    kernel.profiles.register_provider("openai:gpt-5.4", ProviderProfile(init_kwargs={"top_p": 0.75}))
    model = resolve("openai:gpt-5.4", kernel)
    assert isinstance(model, ChatOpenAI)
    assert (model.model_name, model.max_retries, model.top_p) == ("gpt-5.4", 7, 0.75)
    other = resolve("openai:gpt-5.5", kernel)
    assert (other.model_name, other.max_retries, other.top_p) == ("gpt-5.5", 7, 0.5)


def test_a_bare_name_is_left_to_langchains_inference(kernel):
    model = resolve("gpt-5.4", kernel)
    assert isinstance(model, ChatOpenAI)
    assert model.model_name == "gpt-5.4"


def test_further_colons_belong_to_the_model(kernel):
    assert resolve("openai:ft:gpt-4o:org", kernel).model_name == "ft:gpt-4o:org"


def test_settings_stand_above_profiles():
    kernel = with_settings(base_url="http://localhost:1/v1", options={"max_retries": 9})
    kernel.profiles.register_provider("openai", ProviderProfile(init_kwargs={"max_retries": 7, "top_p": 0.5}))
    model = resolve("openai:gpt-5.4", kernel)
    assert (model.openai_api_base, model.max_retries, model.top_p) == ("http://localhost:1/v1", 9, 0.5)


@pytest.mark.parametrize("spec", ["", " ", ":", "openai:", "openai: ", ":gpt-5.4", " :x"])
def test_an_empty_half_is_refused(spec, kernel):
    with pytest.raises(ModelSpecError, match="write PROVIDER:MODEL"):
        resolve(spec, kernel)


@pytest.mark.parametrize(
    "spec", [" openai:gpt-5.4", "openai :gpt-5.4", "openai: gpt-5.4", "openai:gpt-5.4\n"]
)
def test_white_space_is_refused_and_the_right_spelling_offered(spec, kernel):
    with pytest.raises(ModelSpecError, match=r"write: openai:gpt-5\.4"):
        resolve(spec, kernel)


@pytest.mark.spec("MOD-009")
@pytest.mark.parametrize(
    ("spec", "near"),
    [
        ("opnai:gpt-5.4", "openai"),
        ("OpenAI:gpt-5.4", "openai"),
        ("azure-openai:gpt-5.4", "azure_openai"),
        ("antropic:x", "anthropic"),
    ],
)
def test_an_unknown_provider_is_a_value_error_with_the_nearest_name(spec, near, kernel):
    with pytest.raises(ValueError, match="no provider is named") as caught:
        resolve(spec, kernel)
    assert isinstance(caught.value, ModelSpecError)
    assert caught.value.spec == spec
    assert caught.value.hint.startswith("nearest: ")
    assert near in caught.value.hint
    assert isinstance(caught.value.__cause__, ValueError)


def test_without_a_near_provider_all_are_listed(kernel):
    with pytest.raises(ModelSpecError, match=r"known: .*openai") as caught:
        resolve("zzzzzzzz:x", kernel)
    assert "anthropic" in caught.value.hint


def test_a_bare_name_that_tells_no_provider_is_refused(kernel):
    with pytest.raises(ModelSpecError, match="can't be told") as caught:
        resolve("my-own-model", kernel)
    assert "PROVIDER:MODEL" in caught.value.hint


@pytest.mark.parametrize(
    ("spec", "package"), [("cohere:x", "langchain-cohere"), ("mistralai:x", "langchain-mistralai")]
)
def test_a_missing_package_is_named_with_the_way_to_install_it(spec, package, kernel):
    assert importlib.util.find_spec(package.replace("-", "_")) is None
    with pytest.raises(ModelPackageError) as caught:
        resolve(spec, kernel)
    assert isinstance(caught.value, ImportError)
    assert caught.value.hint == f"pip install {package}"
    assert "is not installed" in caught.value.reason


def test_a_package_that_is_there_and_broken_is_not_called_missing(kernel, tmp_path, monkeypatch):
    (tmp_path / "langchain_groq.py").write_text("import absent_dependency_of_groq\n", encoding="utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModelPackageError, match="absent_dependency_of_groq") as caught:
        resolve("groq:x", kernel)
    assert caught.value.hint == "pip install --upgrade langchain-groq"


def test_a_missing_key_names_the_environment_variable(kernel, monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(ModelSpecError) as caught:
        resolve("openai:gpt-5.4", kernel)
    assert "OPENAI_API_KEY" in caught.value.hint
    assert caught.value.hint.startswith("set the environment variable")
    assert caught.value.__cause__ is not None


def test_a_refused_argument_is_named_without_showing_the_key():
    kernel = with_settings(options={"max_retries": "many", "api_key": "sk-secret"})
    with pytest.raises(ModelSpecError, match="max_retries") as caught:
        resolve("openai:gpt-5.4", kernel)
    assert "sk-secret" not in str(caught.value)


def test_a_profile_that_finds_a_package_too_old_is_a_package_error(kernel):
    def check(spec):
        raise ImportError(f"{spec} needs a newer package")

    kernel.profiles.register_provider("openai", ProviderProfile(pre_init=check))
    with pytest.raises(ModelPackageError, match="needs a newer package"):
        resolve("openai:gpt-5.4", kernel)


def test_it_is_the_last_to_be_asked(kernel):
    assert isinstance(resolve("offline", kernel), OfflineChatModel)
    with pytest.raises(ModelSpecError, match="write: scripted"):
        resolve("scripted", kernel)
    own = ScriptedChatModel(["x"])

    class Mine:
        PLUGIN = PluginInfo(name="model.mine")

        @hookimpl
        def deepagents_resolve_model(self, spec):
            return own if spec == "mine:x" else None

    assert Kernel([Mine()], builtins=MODELS).resolve_model("mine:x") is own


@pytest.mark.spec("MOD-001", "PP-044")
def test_an_instance_is_kept_as_it_is_and_no_profile_touches_it(kernel):
    asked = []
    profile = ProviderProfile(init_kwargs={"max_retries": 7}, pre_init=asked.append)
    kernel.profiles.register_provider("openai", profile)
    model = ChatOpenAI(model="gpt-5.4", max_retries=3)
    assert kernel.resolve_model(model) is model
    assert model.max_retries == 3
    assert asked == []
    assert kernel.resolve_model("openai:gpt-5.4").max_retries == 7
    assert asked == ["openai:gpt-5.4"]


def test_settings_of_one_agent_reach_the_model_string():
    from deepagents_kernel import Kernel, make_request

    kernel = Kernel()
    settings = {"model.init-chat-model": {"base_url": "http://127.0.0.1:9/v1", "options": {"api_key": "x"}}}
    plan = kernel.plan(make_request("openai:gpt-x", settings=settings))
    assert plan.main.context.model.openai_api_base == "http://127.0.0.1:9/v1"
    assert kernel.settings(InitChatModelSettings).base_url is None
