"""The registry: keys, stacking, replacing, going back, many threads."""

import logging
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import tiny

from deepagents_kernel.errors import ProfileError, ProfileTypeError
from deepagents_kernel.profiles.config import HarnessProfileConfig
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.keys import check_key, split_spec
from deepagents_kernel.profiles.lookup import harness_for_spec, provider_kwargs
from deepagents_kernel.profiles.provider import ProviderProfile, merge_provider_profiles, resolve_kwargs
from deepagents_kernel.profiles.registry import ProfileRegistry
from deepagents_kernel.profiles.shelf import LazyProfile


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
    from deepagents_kernel.profiles.shelf import Shelf

    put = Shelf.put
    registry = ProfileRegistry()
    register(registry, kind, "p")
    rival = threading.Thread(target=register, args=(registry, kind, "rival"))

    def interrupted(shelf: object, key: str, given: object, owner: str, *, merge: bool) -> object:
        changed = put(shelf, key, given, owner, merge=merge)
        if key == "p":
            # Without the lock the rival finishes here, and what it stored is then overwritten.
            rival.start()
            rival.join(0.2)
        return changed

    monkeypatch.setattr(Shelf, "put", interrupted)
    register(registry, kind, "p")
    rival.join(10)
    assert (registry.provider_keys() or registry.harness_keys()) == ["p", "rival"]
    assert registry.version == 3


@pytest.mark.spec("BOOT-026")
def test_thirty_two_threads_register_and_look_up_at_once() -> None:
    workers, each = 32, 12
    registry = ProfileRegistry()
    start = threading.Barrier(workers)
    spellings = ("azure:m", "azure_openai:m", "Azure-OpenAI:m")

    def work(worker: int) -> None:
        start.wait()
        for number in range(each):
            name = f"w{worker}-{number}"
            registry.register_harness(spellings[number % 3], HarnessProfile(excluded_tools={name}))
            registry.register_provider(f"p{worker}", ProviderProfile({name: 1}))
            ref = harness_for_spec(registry, spellings[worker % 3])
            # One consistent state: what the reference shows is what it was merged from, one's own included.
            assert name in ref.profile.excluded_tools
            assert ref.profile.excluded_tools == {
                n for part in ref.parts for n in part.profile.excluded_tools
            }
            assert provider_kwargs(registry, f"p{worker}:m") == {
                f"w{worker}-{n}": 1 for n in range(number + 1)
            }

    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(work, range(workers)))
    assert len(registry.harness_keys()) == 1
    harness = registry.harness("azure:m")
    assert harness is not None
    assert len(harness.excluded_tools) == len(registry.layers("harness", "azure:m")) == workers * each
    assert len(registry.provider_keys()) == workers
    assert registry.version == 2 * workers * each


@pytest.mark.spec("PP-005", "HP-050")
@KINDS
def test_a_failure_leaves_the_registry_as_it_was(kind: str) -> None:
    registry = ProfileRegistry()
    register(registry, kind, "p")
    before = registry.snapshot()
    with pytest.raises(ProfileTypeError):
        getattr(registry, f"register_{kind}")("p", {"a": 1})
    with pytest.raises(ProfileTypeError):
        getattr(registry, f"replace_{kind}")("p", None)
    with pytest.raises(ProfileError):
        getattr(registry, f"register_{kind}")("p:", LazyProfile("x:Y"))
    with pytest.raises(ProfileError):
        getattr(registry, f"unregister_{kind}")("q")
    assert registry.snapshot() is before
    # What is imported later may fail later: nothing of it is kept, the other keys are not touched.
    getattr(registry, f"register_{kind}")("q", LazyProfile("no_such_module:X"))
    for _ in range(2):
        with pytest.raises(ProfileError, match="no_such_module"):
            getattr(registry, kind)("q")
    assert getattr(registry, kind)("p") is not None
    registry.restore(before)
    assert (registry.provider_keys() or registry.harness_keys()) == ["p"]


@pytest.mark.spec("BY-084", "HP-051")
def test_two_vendors_of_one_model_both_stand_in_plugin_order() -> None:
    plugins = {
        "harness.zeta": tiny.plugin(
            deepagents_harness_profiles=lambda: [("azure:m", HarnessProfile("zeta", excluded_tools={"z"}))]
        ),
        "harness.alpha": tiny.plugin(
            deepagents_harness_profiles=lambda: [("azure_openai:m", HarnessProfile("alpha", "alpha"))]
        ),
    }
    seen = []
    for order in (plugins, dict(reversed(plugins.items()))):
        registry = tiny.kernel(order).profiles
        ref = harness_for_spec(registry, "azure:m")
        seen.append((ref.profile, [part.owner for part in ref.parts], ref.layers))
        assert [layer.owner for layer in registry.layers("harness", "azure:m")] == seen[0][1]
    assert sorted(seen[0][1]) == ["harness.alpha", "harness.zeta"]
    assert seen[0][0].excluded_tools == {"z"}
    assert seen[0][0].system_prompt_suffix == "alpha"
    assert seen[0] == seen[1]


# ---- profiles that are imported when they are used


@pytest.fixture
def lazy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Name of a module with a profile of each sort, not imported yet."""
    name = "profiles_on_demand"
    (tmp_path / f"{name}.py").write_text(
        "from deepagents_kernel import HarnessProfile, HarnessProfileConfig, ProviderProfile\n"
        "PROVIDER = ProviderProfile({'a': 1})\n"
        "HARNESS = HarnessProfile(base_system_prompt='lazy')\n"
        "CONFIG = HarnessProfileConfig(system_prompt_suffix='configured')\n"
        "WRONG = 3\n",
        encoding="utf-8",
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield name
    sys.modules.pop(name, None)


def test_a_lazy_profile_is_imported_when_it_is_asked_for(lazy: str) -> None:
    registry = ProfileRegistry()
    registry.register_harness("p:m", LazyProfile(f"{lazy}:HARNESS"))
    registry.register_provider("p", LazyProfile(f"{lazy}:PROVIDER"))
    assert registry.harness_keys() == ["p:m"]
    assert harness_for_spec(registry, "q:m").profile == HarnessProfile()
    assert harness_for_spec(registry, "p:other").profile == HarnessProfile()
    assert lazy not in sys.modules
    assert harness_for_spec(registry, "p:m").profile.base_system_prompt == "lazy"
    assert registry.provider("p") == ProviderProfile({"a": 1})


def test_lazy_and_ready_profiles_are_merged_in_the_order_of_registration(lazy: str) -> None:
    registry = ProfileRegistry()
    registry.register_harness("p", LazyProfile(f"{lazy}:HARNESS"))
    registry.register_harness("p", LazyProfile(f"{lazy}:CONFIG"))
    registry.register_harness("p", HarnessProfile(base_system_prompt="ready"))
    merged = registry.harness("p")
    assert merged == HarnessProfile(base_system_prompt="ready", system_prompt_suffix="configured")


@pytest.mark.parametrize("target", ["{}:NOTHING", "no_such_module:X", "{}:WRONG"])
def test_a_lazy_profile_that_is_none_names_its_target_or_type(lazy: str, target: str) -> None:
    registry = ProfileRegistry()
    registry.register_harness("p", LazyProfile(target.format(lazy)))
    with pytest.raises(ProfileError) as caught:
        registry.harness("p")
    assert target.format(lazy) in str(caught.value) or "int" in str(caught.value)


@pytest.mark.parametrize("target", ["no_such_module:X", "{}:WRONG"])
def test_a_lazy_profile_that_is_none_says_whose_it_is_and_the_way_out(lazy: str, target: str) -> None:
    registry = ProfileRegistry()
    target = target.format(lazy)
    with registry.owned_by("harness.acme"):
        registry.register_harness("p:m", LazyProfile(target))
    with pytest.raises(ProfileError) as caught:
        harness_for_spec(registry, "p:m")
    text = str(caught.value)
    assert f"{target!r} is registered as the harness profile of 'p:m' by the plugin harness.acme" in text
    assert "deepagents-kernel plugins disable harness.acme" in text
    assert isinstance(caught.value, ProfileTypeError) is ("WRONG" in target)


@pytest.mark.parametrize(
    ("owner", "says"), [("", "by this program"), ("deepagents.toml:3", "in deepagents.toml:3")]
)
def test_a_broken_lazy_profile_of_no_plugin_names_no_plugin(owner: str, says: str) -> None:
    registry = ProfileRegistry()
    with registry.owned_by(owner):
        registry.register_provider("p", LazyProfile("no_such_module:X"))
    with pytest.raises(ProfileError, match=says) as caught:
        provider_kwargs(registry, "p:m")
    assert "plugins disable" not in str(caught.value)


def _none() -> list[Any]:
    return []


def test_many_registrations_under_one_key_do_not_exhaust_the_stack() -> None:
    registry = ProfileRegistry()
    for number in range(1200):
        registry.register_provider("p", ProviderProfile({"n": number}, None, dict))
        registry.register_harness("p", HarnessProfile(extra_middleware=_none))
    merged = registry.provider("p")
    assert merged is not None
    assert resolve_kwargs(merged) == {"n": 1199}
    harness = registry.harness("p")
    assert harness is not None
    assert harness.materialize_extra_middleware() == []


@pytest.mark.filterwarnings("error")
def test_a_check_that_returns_a_coroutine_is_refused() -> None:
    async def check(_spec: str) -> None:
        raise AssertionError

    registry = ProfileRegistry()
    registry.register_provider("p", ProviderProfile(pre_init=lambda spec: check(spec)))
    with pytest.raises(ProfileTypeError, match="pre_init: returned a coroutine"):
        provider_kwargs(registry, "p:m")
    merged = merge_provider_profiles(
        ProviderProfile(pre_init=str), ProviderProfile(pre_init=check_later(check))
    )
    assert merged.pre_init is not None
    with pytest.raises(ProfileTypeError, match="pre_init: returned a coroutine"):
        merged.pre_init("p:m")


def check_later(check: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda spec: check(spec)


def test_each_registration_keeps_who_made_it() -> None:
    registry = ProfileRegistry()
    with registry.owned_by("harness.acme"):
        registry.register_harness("p", HarnessProfile(base_system_prompt="a"))
    registry.register_harness("p", HarnessProfile(base_system_prompt="b"))
    found = [(layer.owner, layer.profile.base_system_prompt) for layer in registry.layers("harness", "p")]
    assert found == [("harness.acme", "a"), ("", "b")]
    registry.replace_harness("p", HarnessProfile())
    assert [layer.owner for layer in registry.layers("harness", "p")] == [""]
    registry.unregister_harness("p")
    assert registry.layers("harness", "p") == ()
