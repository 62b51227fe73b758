"""What every profile has to keep, as tests: authors subclass a suite and get them all.

    class TestOurProfile(HarnessProfileConformance):
        key = "acme:large"
        profile = PROFILE
        module = "deepagents_acme.profile"

Each failure says what is wrong and what to do.
"""

from __future__ import annotations

import json
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ClassVar

import pytest
from attrs import evolve

from deepagents_kernel.assembly.request import make_request
from deepagents_kernel.config.secrets import is_secret
from deepagents_kernel.errors import DeepAgentsError, nearest_hint
from deepagents_kernel.kernel import Kernel
from deepagents_kernel.profiles.config import HarnessProfileConfig, as_harness_profile
from deepagents_kernel.profiles.harness import HarnessProfile
from deepagents_kernel.profiles.keys import check_key
from deepagents_kernel.profiles.lookup import harness_for_spec
from deepagents_kernel.profiles.merging import merge_harness_profiles
from deepagents_kernel.profiles.names import as_reported, read_name
from deepagents_kernel.profiles.provider import (
    ProviderProfile,
    merge_provider_profiles,
    resolve_kwargs,
    run_check,
)
from deepagents_kernel.profiles.registry import ProfileRegistry
from deepagents_kernel.profiles.shelf import LazyProfile
from deepagents_kernel.testing.scripted import ScriptedChatModel

#: What a module of profiles must not bring along: whoever lists plugins would wait for it.
HEAVY = ("langchain", "langchain_core", "langgraph")


class _Conformance:
    """What both suites share.

    Attributes:
        key: the key that the profile is registered under; may be a fixture of that name.
        profile: the profile; may be a fixture of that name.
        module: the module that a plugin is found by, or that a ``LazyProfile`` names.
    """

    key: Any = None
    profile: Any = None
    module: str = ""

    @pytest.fixture
    def given_key(self, request: pytest.FixtureRequest) -> Any:
        """The key, from the attribute or from the fixture."""
        key = _given(self, request, "key")
        if key is None:
            _fail("set key to the key that the profile is registered under, such as 'acme' or 'acme:large'")
        return key

    @pytest.fixture
    def given_profile(self, request: pytest.FixtureRequest) -> Any:
        """The profile, from the attribute or from the fixture, imported if it is lazy."""
        profile = _given(self, request, "profile")
        return profile.load() if isinstance(profile, LazyProfile) else profile

    def test_the_key_is_valid(self, given_key: Any) -> None:
        """A profile can be registered under it, and a model string finds it."""
        with _explained("the key can't be registered"):
            check_key(given_key)
        registry = ProfileRegistry()
        registry.register_harness(given_key, HarnessProfile())
        if harness_for_spec(registry, given_key).key != given_key:
            _fail(f"no model string finds the key {given_key!r}; write 'provider' or 'provider:model'")

    def test_importing_the_module_does_not_import_langchain(self) -> None:
        """Registering a profile is cheap; what it needs is imported where it is used."""
        if not self.module:
            _fail("module names no module; set it to the one that the entry point, or a LazyProfile, names")
        loaded = _imported_with(self.module)
        if loaded:
            _fail(f"importing {self.module} imports {', '.join(loaded)}; import them inside functions")


class HarnessProfileConformance(_Conformance):
    """Tests of a harness profile.

    Attributes:
        key, profile, module: as in every suite.
        plugins: plugins that the profile counts on: those whose tools it describes, or whose profile lies
            below it. The one that brings the profile itself may be among them.
        plan_arguments: further arguments of ``make_request``, such as tools or sub-agents that it speaks of.
        shares_instances: set it if extra middleware is meant to be shared by all stacks.
    """

    plugins: ClassVar[Iterable[Any]] = ()
    plan_arguments: ClassVar[Mapping[str, Any]] = {}
    shares_instances: ClassVar[bool] = False

    @pytest.fixture
    def harness(self, given_profile: Any) -> HarnessProfile:
        """The profile in the form that is merged."""
        with _explained("it is no harness profile"):
            return as_harness_profile(given_profile)

    def test_the_fields_are_valid(self, harness: HarnessProfile) -> None:
        """What it says can be meant: no field is blank, and none speaks against another."""
        for name, text in _texts(harness):
            if name.startswith("tool_description_overrides") and not text.strip():
                _fail(f"{name} is empty; leave it out to keep the description of the tool")
        for name in sorted(harness.excluded_tools & set(harness.tool_description_overrides)):
            _fail(f"tool {name!r} is excluded and described; nobody reads the description")
        for name in sorted(harness.excluded_tools & harness.restored_tools):
            _fail(f"tool {name!r} is excluded and taken back by one profile; it stays excluded")
        for entry in harness.excluded_middleware & harness.restored_middleware:
            _fail(f"middleware {entry!r} is excluded and taken back by one profile; it stays excluded")

    def test_merged_with_an_empty_profile_it_is_itself(self, harness: HarnessProfile) -> None:
        """An empty layer above or below changes nothing."""
        for merged in (
            merge_harness_profiles(harness, HarnessProfile()),
            merge_harness_profiles(HarnessProfile(), harness),
        ):
            if merged != harness:
                _fail(f"merged with an empty profile it becomes another one: {merged!r:.200}")

    def test_extra_middleware_is_made_anew_for_each_stack(self, harness: HarnessProfile) -> None:
        """Two stacks share no instance, and the factory doesn't raise."""
        if not callable(harness.extra_middleware):
            if harness.extra_middleware and not self.shares_instances:
                _fail(
                    "extra_middleware holds instances, which all stacks share; give a function that makes "
                    "them, or set shares_instances = True"
                )
            return
        with _explained("the factory of extra_middleware failed"):
            first, second = harness.materialize_extra_middleware(), harness.materialize_extra_middleware()
        again = {id(item) for item in first}
        shared = sorted({type(item).__name__ for item in second if id(item) in again})
        if shared:
            _fail(f"the factory of extra_middleware returns the same {', '.join(shared)} each time")
        names = [getattr(item, "name", type(item).__name__) for item in first]
        if len(set(names)) != len(names):
            _fail(f"the factory of extra_middleware makes two of one name: {', '.join(names)}")

    def test_what_can_be_written_into_a_file_comes_back(self, harness: HarnessProfile) -> None:
        """Everything but objects, functions and classes without an alias survives a file."""
        plain = evolve(
            harness,
            extra_middleware=(),
            excluded_middleware=_writable(harness.excluded_middleware),
            restored_middleware=_writable(harness.restored_middleware),
        )
        with _explained("it can't be written into a file"):
            config = HarnessProfileConfig.from_harness_profile(plain)
            back = HarnessProfileConfig.from_dict(json.loads(json.dumps(config.to_dict())))
        if back != config:
            _fail(f"written and read it becomes another one: {back!r:.200}")

    def test_every_name_means_something_in_a_plan(self, harness: HarnessProfile, given_key: Any) -> None:
        """Tools and middleware that it names are there; a misspelt one protects nothing."""
        with _explained("an agent can't be planned with it"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kernel = Kernel(list(self.plugins))
            layers = kernel.profiles.layers("harness", given_key)
            if not any(layer.profile == harness for layer in layers):
                kernel.profiles.register_harness(given_key, harness)
            plan = kernel.plan(make_request(_model(given_key), **self.plan_arguments))
        found = ["; ".join(filter(None, (problem.text, problem.hint))) for problem in plan.warnings]
        if found:
            _fail("\n".join(["a plan with it warns:", *found]))

    def test_texts_end_cleanly(self, harness: HarnessProfile) -> None:
        """No blanks around a text or at the end of a line: prompts are joined and cached as they are."""
        for name, text in _texts(harness):
            if text != text.strip():
                _fail(f"{name} begins or ends with blanks; strip it")
            if "\r" in text or any(line != line.rstrip() for line in text.splitlines()):
                _fail(f"{name} has blanks or a carriage return at the end of a line")


class ProviderProfileConformance(_Conformance):
    """Tests of a provider profile.

    Attributes:
        key, profile, module: as in every suite.
        model_class: what is called with the keyword arguments: the class of the model, or a function.
        required: keyword arguments that the model needs besides, such as a key that is none.
    """

    model_class: ClassVar[Any] = None
    required: ClassVar[Mapping[str, Any]] = {}

    @pytest.fixture
    def provider(self, given_profile: Any) -> ProviderProfile:
        """The profile."""
        if not isinstance(given_profile, ProviderProfile):
            _fail(f"it is no provider profile but {type(given_profile).__name__}")
        profile: ProviderProfile = given_profile
        return profile

    @pytest.fixture
    def kwargs(self, provider: ProviderProfile) -> dict[str, Any]:
        """The keyword arguments that it comes to."""
        with _explained("the factory of keyword arguments failed"):
            return resolve_kwargs(provider)

    def test_merged_with_an_empty_profile_it_comes_to_the_same(
        self, provider: ProviderProfile, kwargs: dict[str, Any]
    ) -> None:
        """An empty layer above or below changes nothing."""
        for merged in (
            merge_provider_profiles(provider, ProviderProfile()),
            merge_provider_profiles(ProviderProfile(), provider),
        ):
            if merged.init_kwargs != provider.init_kwargs or resolve_kwargs(merged).keys() != kwargs.keys():
                _fail("merged with an empty profile it comes to other keyword arguments")

    def test_each_model_gets_keyword_arguments_of_its_own(self, provider: ProviderProfile) -> None:
        """What the factory returns is new each time, mappings and lists in it included."""
        factory = provider.init_kwargs_factory
        if factory is None:
            return
        with _explained("the factory of keyword arguments failed"):
            first, second = factory(), factory()
        shared = set(_containers(first)) & set(_containers(second))
        if shared:
            _fail(
                "init_kwargs_factory returns the same dictionary or list each time; build it in the function"
            )

    def test_it_holds_no_secret(self, kwargs: dict[str, Any]) -> None:
        """Keys come from the environment or the user's configuration, never from a package."""
        found = sorted(_secrets(kwargs))
        if found:
            _fail(f"{', '.join(found)}: a secret does not belong into a profile; the model reads its own")

    def test_its_check_lets_its_own_model_pass(self, provider: ProviderProfile, given_key: Any) -> None:
        """``pre_init`` refuses what can't work, and that is not everything."""
        if provider.pre_init is not None:
            with _explained("pre_init refuses its own model"):
                run_check(provider.pre_init, given_key if ":" in given_key else f"{given_key}:any")

    def test_the_model_takes_the_keyword_arguments(self, kwargs: dict[str, Any]) -> None:
        """The model is made with them; one that it does not know is named."""
        made_by = type(self).__dict__.get("model_class", self.model_class)
        if isinstance(made_by, staticmethod):
            made_by = made_by.__func__
        if made_by is None:
            _fail("model_class is not set; name the class that is constructed with the keyword arguments")
        known = _parameters(made_by)
        for name in kwargs if known else ():
            if name not in known:
                hint = nearest_hint(name, known)
                _fail(f"{made_by.__name__} has no {name!r}{f'; {hint}' if hint else ''}")
        with _explained("the model refuses the keyword arguments"), warnings.catch_warnings():
            warnings.simplefilter("error")
            made_by(**{**self.required, **kwargs})


# -- what the tests look at ----------------------------------------------------------------------------------


def _fail(text: str) -> None:
    __tracebackhide__ = True
    pytest.fail(text, pytrace=False)


@contextmanager
def _explained(what: str) -> Iterator[None]:
    __tracebackhide__ = True
    try:
        yield
    except Exception as error:
        pytest.fail(f"{what}: {type(error).__name__}: {error}", pytrace=False)


def _given(suite: Any, request: pytest.FixtureRequest, name: str) -> Any:
    """An attribute of the suite, or what the fixture of that name makes."""
    found = getattr(suite, name, None)
    kinds = (str, HarnessProfile, HarnessProfileConfig, ProviderProfile, LazyProfile)
    if isinstance(found, kinds):
        return found
    try:
        return request.getfixturevalue(name)
    except pytest.FixtureLookupError:
        return found


def _imported_with(module: str) -> list[str]:
    code = f"import sys, importlib; sys.path[:] = {sys.path!r}; importlib.import_module({module!r})"
    command = [sys.executable, "-c", f"{code}; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)  # noqa: S603
    if done.returncode:
        _fail(f"module {module!r} can't be imported:\n{done.stderr.strip()}")
    loaded = set(done.stdout.split())
    return [name for name in HEAVY if name in loaded]


def _texts(profile: HarnessProfile) -> Iterator[tuple[str, str]]:
    given = profile.general_purpose_subagent
    found: dict[str, str | None] = {
        "base_system_prompt": profile.base_system_prompt,
        "system_prompt_suffix": profile.system_prompt_suffix,
        "general_purpose_subagent.system_prompt": given.system_prompt if given else None,
        "general_purpose_subagent.description": given.description if given else None,
    }
    yield from ((name, text) for name, text in found.items() if text is not None)
    for tool, text in profile.tool_description_overrides.items():
        yield f"tool_description_overrides.{tool}", text


def _writable(entries: Iterable[type | str]) -> frozenset[type | str]:
    return frozenset(e for e in entries if isinstance(e, str) or hasattr(e, "serialized_name"))


def _model(key: str) -> ScriptedChatModel:
    """A model that reports what makes the key apply."""
    parts = read_name(key)
    if parts is None:
        raise DeepAgentsError(f"no model has the key {key!r}")
    return ScriptedChatModel([], provider=as_reported(parts.provider), model_name=parts.model or "any")


def _containers(value: Any) -> Iterator[int]:
    if isinstance(value, (dict, list, set)):
        yield id(value)
    items = value.values() if isinstance(value, Mapping) else value if isinstance(value, list) else ()
    for item in items:
        yield from _containers(item)


def _secrets(kwargs: Mapping[str, Any], above: str = "") -> Iterator[str]:
    for name, value in kwargs.items():
        yield from _secrets_of(value, f"{above}{name}", named=is_secret(str(name)))


def _secrets_of(value: Any, where: str, *, named: bool) -> Iterator[str]:
    """Where a secret stands in a value; *named* if a name around it says that it is one."""
    if isinstance(value, Mapping):
        yield from _secrets(value, f"{where}.")
    elif isinstance(value, (list, tuple)):
        for index, item in enumerate(value):
            yield from _secrets_of(item, f"{where}[{index}]", named=named)
    elif named and isinstance(value, str) and value:
        yield where


def _parameters(made_by: Callable[..., Any]) -> list[str]:
    """Names that a model takes, by field or alias; empty where only calling it tells."""
    fields = getattr(made_by, "model_fields", None)
    if not isinstance(fields, Mapping):
        return []
    aliases = [field.alias for field in fields.values() if isinstance(field.alias, str)]
    return [*fields, *aliases]
