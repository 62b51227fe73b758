"""The registry: keys, stacking, replacing, going back, many threads."""

import logging
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from deepagents_kernel.errors import ProfileError, ProfileTypeError
from deepagents_kernel.profiles.config import HarnessProfileConfig
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.keys import check_key, split_spec
from deepagents_kernel.profiles.lookup import harness_for_spec, provider_kwargs
from deepagents_kernel.profiles.provider import ProviderProfile
from deepagents_kernel.profiles.registry import ProfileRegistry


def register(registry: ProfileRegistry, kind: str, key: object) -> None:
    if kind == "provider":
        registry.register_provider(key, ProviderProfile({"a": 1}))
    else:
        registry.register_harness(key, HarnessProfile(system_prompt_suffix="S"))


KINDS = pytest.mark.parametrize("kind", ["provider", "harness"])


@pytest.mark.spec("PP-001")
def test_only_the_first_colon_splits() -> None:
    assert split_spec("a") == ("a", None)
    assert split_spec("a:b") == ("a", "b")
    assert split_spec("a:b:c") == ("a", "b:c")
    assert split_spec("a::b") == ("a", ":b")


@pytest.mark.spec("PP-002")
@KINDS
@pytest.mark.parametrize(
    "key", ["", " ", " a", "a ", "a:b ", ":", ":b", "a:", "a :b", "a: b", "a:\tb", "\na"]
)
def test_malformed_keys_are_refused(kind: str, key: str) -> None:
    registry = ProfileRegistry()
    with pytest.raises(ProfileError, match="key"):
        register(registry, kind, key)
    assert registry.provider_keys() == registry.harness_keys() == []
    assert registry.version == 0


@pytest.mark.spec("PP-003")
@KINDS
@pytest.mark.parametrize(
    "key", ["a", "a:b:c", "a::b", "bedrock:arn:aws:bedrock:us-east-1:1:inference-profile/x.y-v1:0", "A b:c d"]
)
def test_unusual_keys_are_accepted(kind: str, key: str) -> None:
    assert check_key(key) == key
    registry = ProfileRegistry()
    register(registry, kind, key)
    assert (registry.provider_keys() or registry.harness_keys()) == [key]


@pytest.mark.spec("PP-004")
@KINDS
@pytest.mark.parametrize("key", [None, 3, b"openai", ("openai", "m")])
def test_keys_that_are_no_strings_are_refused(kind: str, key: object) -> None:
    with pytest.raises(ProfileTypeError, match=f"{kind} profile key") as caught:
        register(ProfileRegistry(), kind, key)
    assert isinstance(caught.value, ValueError)


@pytest.mark.spec("PP-005")
@pytest.mark.parametrize("profile", [{"a": 1}, None, ProviderProfile, HarnessProfile()])
@pytest.mark.parametrize("method", ["register_provider", "replace_provider"])
def test_provider_registration_checks_the_profile(method: str, profile: object) -> None:
    registry = ProfileRegistry()
    with pytest.raises(ProfileTypeError, match="ProviderProfile"):
        getattr(registry, method)("openai", profile)
    assert registry.provider_keys() == []


@pytest.mark.spec("HP-050")
@pytest.mark.parametrize("method", ["register_harness", "replace_harness"])
def test_harness_registration_converts_configs_and_checks_types(method: str) -> None:
    registry = ProfileRegistry()
    getattr(registry, method)("p", HarnessProfileConfig(excluded_tools={"ls"}))
    assert registry.harness("p") == HarnessProfile(excluded_tools={"ls"})
    for wrong in ({"excluded_tools": ["ls"]}, None, ProviderProfile()):
        with pytest.raises(ProfileTypeError, match="HarnessProfile"):
            getattr(registry, method)("p", wrong)


@pytest.mark.spec("PP-026", "HP-051")
def test_registering_again_stacks_and_logs(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    registry = ProfileRegistry()
    registry.register_provider("p", ProviderProfile({"a": 1, "b": 1}))
    registry.register_harness("p", HarnessProfile(base_system_prompt="B", excluded_tools={"ls"}))
    assert caplog.records == []
    registry.register_provider("p", ProviderProfile({"b": 2}))
    registry.register_harness("p", HarnessProfile(system_prompt_suffix="S", excluded_tools={"rm"}))
    assert registry.provider("p") == ProviderProfile({"a": 1, "b": 2})
    assert registry.harness("p") == HarnessProfile("B", "S", excluded_tools={"ls", "rm"})
    assert [(record.levelname, record.event, record.fields["key"]) for record in caplog.records] == [
        ("INFO", "provider_profile_merged", "p"),
        ("INFO", "harness_profile_merged", "p"),
    ]


@pytest.mark.spec("HP-052")
def test_what_was_looked_up_does_not_change() -> None:
    registry = ProfileRegistry()
    registry.register_harness("p", HarnessProfile(system_prompt_suffix="old"))
    before = harness_for_spec(registry, "p:m")
    registry.register_harness("p", HarnessProfile(system_prompt_suffix="new"))
    assert before.profile.system_prompt_suffix == "old"
    assert harness_for_spec(registry, "p:m").profile.system_prompt_suffix == "new"


@pytest.mark.spec("BY-081", "PP-027")
def test_profiles_can_be_replaced_and_unregistered() -> None:
    registry = ProfileRegistry()
    registry.register_provider("p", ProviderProfile({"a": 1, "b": 1}))
    registry.register_harness("p", HarnessProfile("B", "S"))
    registry.replace_provider("p", ProviderProfile({"b": 2}))
    registry.replace_harness("p", HarnessProfileConfig(system_prompt_suffix="T"))
    assert registry.provider("p") == ProviderProfile({"b": 2})
    assert registry.harness("p") == HarnessProfile(system_prompt_suffix="T")
    registry.unregister_provider("p")
    registry.unregister_harness("p")
    assert registry.provider("p") is None
    assert registry.harness("p") is None
    assert provider_kwargs(registry, "p:m") == {}
    assert harness_for_spec(registry, "p:m").layers == ()


@pytest.mark.spec("BY-081")
@KINDS
def test_unregistering_an_unknown_key_names_the_nearest(kind: str) -> None:
    registry = ProfileRegistry()
    register(registry, kind, "openai")
    with pytest.raises(ProfileError, match="nearest: openai"):
        getattr(registry, f"unregister_{kind}")("opneai")


def test_keys_are_sorted_and_kinds_are_apart() -> None:
    registry = ProfileRegistry()
    for key in ("b", "a:z", "a"):
        register(registry, "provider", key)
    register(registry, "harness", "h")
    assert registry.provider_keys() == ["a", "a:z", "b"]
    assert registry.harness_keys() == ["h"]
    assert registry.provider("h") is None


def test_version_grows_with_every_change() -> None:
    registry = ProfileRegistry()
    seen = [registry.version]
    for change in (
        lambda: register(registry, "provider", "p"),
        lambda: register(registry, "harness", "p"),
        lambda: registry.replace_provider("p", ProviderProfile()),
        lambda: registry.replace_harness("p", HarnessProfile()),
        lambda: registry.unregister_provider("p"),
        lambda: registry.unregister_harness("p"),
        lambda: registry.restore(registry.snapshot()),
    ):
        change()
        seen.append(registry.version)
    assert seen == sorted(set(seen))


def test_restore_goes_back_to_a_snapshot() -> None:
    registry = ProfileRegistry()
    register(registry, "harness", "p")
    snapshot = registry.snapshot()
    registry.register_harness("p", HarnessProfile(base_system_prompt="B"))
    register(registry, "provider", "q")
    assert harness_for_spec(registry, "p:m").profile.base_system_prompt == "B"
    registry.restore(snapshot)
    assert registry.provider_keys() == []
    assert registry.harness("p") == HarnessProfile(system_prompt_suffix="S")
    assert harness_for_spec(registry, "p:m").profile.base_system_prompt is None


@pytest.mark.spec("BOOT-026")
def test_no_registration_is_lost_between_threads() -> None:
    workers, each = 8, 40
    registry = ProfileRegistry()
    start = threading.Barrier(workers)

    def work(worker: int) -> None:
        start.wait()
        for number in range(each):
            registry.register_provider("p", ProviderProfile({f"w{worker}-{number}": 1}))
            registry.register_harness("p", HarnessProfile(excluded_tools={f"w{worker}-{number}"}))

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    provider, harness = registry.provider("p"), registry.harness("p")
    assert provider is not None
    assert harness is not None
    assert len(provider.init_kwargs) == len(harness.excluded_tools) == workers * each
    assert registry.version == 2 * workers * each


@pytest.mark.spec("BOOT-026")
@KINDS
def test_registration_in_the_middle_of_another_is_not_lost(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from deepagents_kernel.profiles import registry as module

    name = f"merge_{kind}_profiles"
    merge = getattr(module, name)
    registry = ProfileRegistry()
    register(registry, kind, "p")
    rival = threading.Thread(target=register, args=(registry, kind, "rival"))

    def interrupted(base: object, override: object) -> object:
        # Without the lock the rival finishes here, and what it stored is then overwritten.
        rival.start()
        rival.join(0.2)
        return merge(base, override)

    monkeypatch.setattr(module, name, interrupted)
    register(registry, kind, "p")
    rival.join(10)
    assert (registry.provider_keys() or registry.harness_keys()) == ["p", "rival"]
    assert registry.version == 3
