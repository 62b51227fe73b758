"""The provider profiles that are built in: what each makes of its settings and of the environment."""

from __future__ import annotations

import importlib.metadata

import pytest

from deepagents_builtin.profiles.provider import openrouter
from deepagents_kernel import Kernel, ProviderProfile, use_kernel
from deepagents_kernel.errors import ModelPackageError, SettingsError
from deepagents_kernel.profiles.lookup import provider_for_spec, provider_kwargs
from deepagents_kernel.profiles.provider import apply_provider_profile

VARIABLES = ("OPENROUTER_APP_URL", "OPENROUTER_APP_TITLE", "DEEPAGENTS_OPENROUTER_ALLOW_AZURE")
NO_AZURE = {"ignore": ["azure"]}


@pytest.fixture(autouse=True)
def silent_environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def installed(monkeypatch):
    """Say which version of the package for OpenRouter is installed; ``None`` for none."""

    original = importlib.metadata.version

    def say(version):
        def look(name):
            if name != "langchain-openrouter":  # LangChain asks for others while it is imported
                return original(name)
            if version is None:
                raise importlib.metadata.PackageNotFoundError(name)
            return version

        monkeypatch.setattr(importlib.metadata, "version", look)

    return say


def made(spec, kernel=None, **options):
    return provider_kwargs((kernel or Kernel()).profiles, spec, run_pre_init=False, **options)


@pytest.mark.spec("BOOT-003")
def test_they_are_registered_in_their_order():
    kernel = Kernel()
    assert list(kernel.profiles.snapshot().providers) == ["nvidia", "openai", "openrouter"]
    for key in kernel.profiles.provider_keys():
        assert [layer.owner for layer in kernel.profiles.layers("provider", key)] == [f"provider.{key}"]


@pytest.mark.spec("PP-040")
def test_openai():
    assert made("openai:gpt-5.4") == {"use_responses_api": True}
    assert made("openai:gpt-5.4", kwargs={"use_responses_api": False}) == {"use_responses_api": False}
    assert made("azure_openai:gpt-5.4") == {}


@pytest.mark.spec("PP-041")
def test_nvidia():
    kernel = Kernel()
    first, second = made("nvidia:m", kernel), made("nvidia:m", kernel)
    assert first == {"default_headers": {"X-BILLING-INVOKE-ORIGIN": "deepagents-kernel"}}
    first["default_headers"]["X-BILLING-INVOKE-ORIGIN"] = "changed"
    assert second == made("nvidia:m", kernel) != first
    assert made("nvidia:m", Kernel(settings={"provider.nvidia": {"invoke_origin": ""}})) == {}


@pytest.mark.parametrize("name", ["nvidia", "openai", "openrouter"])
def test_without_the_plugin_there_is_no_profile(name):
    kernel = Kernel(disable=[f"provider.{name}"])
    assert provider_for_spec(kernel.profiles, f"{name}:m") is None


def test_a_profile_of_ones_own_stands_above():
    kernel = Kernel()
    kernel.profiles.register_provider("nvidia", ProviderProfile(init_kwargs={"default_headers": {"x": "y"}}))
    kernel.profiles.register_provider("openai:m", ProviderProfile(init_kwargs={"use_responses_api": False}))
    assert made("nvidia:m", kernel)["default_headers"] == {
        "X-BILLING-INVOKE-ORIGIN": "deepagents-kernel",
        "x": "y",
    }
    assert made("openai:m", kernel) == {"use_responses_api": False}


# -- OpenRouter ----------------------------------------------------------------------------------


@pytest.mark.spec("PP-043")
def test_openrouter():
    assert made("openrouter:m") == {
        "app_url": "https://pypi.org/project/deepagents-kernel/",
        "app_title": "deepagents-kernel",
        "openrouter_provider": NO_AZURE,
    }


@pytest.mark.parametrize("value", ["https://example.org", ""])
@pytest.mark.spec("PP-043")
def test_what_the_environment_names_is_left_to_the_package(monkeypatch, value):
    monkeypatch.setenv("OPENROUTER_APP_URL", value)
    assert set(made("openrouter:m")) == {"app_title", "openrouter_provider"}
    monkeypatch.setenv("OPENROUTER_APP_TITLE", value)
    assert made("openrouter:m") == {"openrouter_provider": NO_AZURE}


@pytest.mark.parametrize(
    ("value", "allowed"),
    [
        ("1", True),
        (" TRUE\n", True),
        ("Yes", True),
        ("on", True),
        ("", False),
        ("0", False),
        ("no", False),
        ("2", False),
        ("truee", False),
    ],
)
@pytest.mark.spec("PP-043")
def test_azure_is_allowed_by_a_word_that_means_yes(monkeypatch, value, allowed):
    monkeypatch.setenv("DEEPAGENTS_OPENROUTER_ALLOW_AZURE", value)
    assert ("openrouter_provider" not in made("openrouter:m")) is allowed


def test_the_environment_is_read_for_each_model(monkeypatch):
    kernel = Kernel()
    assert "app_title" in made("openrouter:m", kernel)
    monkeypatch.setenv("OPENROUTER_APP_TITLE", "Ours")
    assert "app_title" not in made("openrouter:m", kernel)


def test_settings_win_over_the_environment(monkeypatch):
    for name in VARIABLES:
        monkeypatch.setenv(name, "yes")
    values = {"app_url": "", "app_title": "House", "allow_azure": False}
    kernel = Kernel(settings={"provider.openrouter": values})
    assert made("openrouter:m", kernel) == {
        "app_url": "",
        "app_title": "House",
        "openrouter_provider": NO_AZURE,
    }


@pytest.mark.parametrize("values", [{"allow_azure": "perhaps"}, {"app_titel": "x"}, {"app_url": 3}])
def test_a_bad_setting_is_refused(values):
    with pytest.raises(SettingsError, match=r"provider\.openrouter"):
        Kernel(settings={"provider.openrouter": values})


@pytest.mark.parametrize("version", ["0.1.9", "0.2.0rc1", "0.2.0.dev3", "0"])
@pytest.mark.spec("PP-042")
def test_a_package_that_is_too_old_is_refused(installed, version):
    installed(version)
    kernel = Kernel()
    with pytest.raises(ImportError) as caught:
        provider_kwargs(kernel.profiles, "openrouter:m")
    assert f"langchain-openrouter {version} is installed" in str(caught.value)
    assert "0.2.0 or later is needed" in str(caught.value)
    with pytest.raises(ModelPackageError, match=r"upgrade it with pip"):
        kernel.resolve_model("openrouter:m")


@pytest.mark.parametrize("version", ["0.2.0", "0.2.0.post1", "0.2.1rc1", "1.0", None])
@pytest.mark.spec("PP-042")
def test_one_that_will_do_or_is_not_there_is_passed(installed, version):
    installed(version)
    assert "app_title" in provider_kwargs(Kernel().profiles, "openrouter:m")


@pytest.mark.spec("PP-042")
def test_a_version_that_is_none_is_passed_with_a_warning(installed, caplog):
    installed("banana")
    openrouter.check_package("openrouter:m")
    (record,) = [item for item in caplog.records if item.event == "openrouter_version_unreadable"]
    assert (record.levelname, record.fields["version"]) == ("WARNING", "banana")


@pytest.mark.spec("PP-042")
def test_nothing_is_checked_for_other_providers(installed):
    installed("0.0.1")
    assert provider_kwargs(Kernel().profiles, "nvidia:m")


# -- whose settings ------------------------------------------------------------------------------


def test_each_kernel_has_its_own_settings():
    one = Kernel(settings={"provider.nvidia": {"invoke_origin": "one"}})
    two = Kernel(settings={"provider.nvidia": {"invoke_origin": "two"}})
    for current in (one, two):
        with use_kernel(current):
            assert made("nvidia:m", one)["default_headers"].popitem()[1] == "one"
            assert made("nvidia:m", two)["default_headers"].popitem()[1] == "two"


def test_an_agents_settings_hold_while_its_models_are_made(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "not-a-key")
    kernel = Kernel()
    own = kernel.configured({"provider.openai": {"use_responses_api": False}})
    assert own.resolve_model("openai:gpt-5.4").use_responses_api is False
    assert kernel.resolve_model("openai:gpt-5.4").use_responses_api is True


def test_the_public_function_reads_the_settings_of_the_kernel_that_it_means():
    with use_kernel(Kernel(settings={"provider.openai": {"use_responses_api": False}})):
        assert apply_provider_profile("openai:m") == {"use_responses_api": False}
