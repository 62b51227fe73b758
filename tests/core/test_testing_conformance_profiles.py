"""The suites for authors of profiles: good ones pass, and each test fails for a profile that breaks it.

The suites run in a pytest of their own, as an author runs them.
"""

from __future__ import annotations

import inspect
import os
import sys
import xml.etree.ElementTree as ET

import pytest
from pages import code, read, rows, section

from deepagents_kernel.testing import HarnessProfileConformance, ProviderProfileConformance
from deepagents_kernel.testing.processes import run_process

HEAD = """
import pytest
from attrs import frozen
from deepagents_kernel import GeneralPurposeSubagentProfile, HarnessProfile
from deepagents_kernel import HarnessProfileConfig, ProviderProfile
from deepagents_kernel.profiles import LazyProfile
from deepagents_kernel.testing import HarnessProfileConformance, LocalChatModel, ProviderProfileConformance


class Chat(LocalChatModel):
    region: str = "us"
    headers: dict = {}

    def answer(self, messages, tools, options):
        raise NotImplementedError


class Harness(HarnessProfileConformance):
    key = "acme:large"
    profile = HarnessProfile(excluded_tools={"grep"})
    module = "light"


class Provider(ProviderProfileConformance):
    key = "acme"
    profile = ProviderProfile({"region": "eu"})
    module = "light"
    model_class = Chat
"""

GOOD = """
from langchain.agents.middleware import AgentMiddleware

class Extra(AgentMiddleware):
    serialized_name = "Extra"

class Unwritten(AgentMiddleware):
    pass

ALL = HarnessProfile(
    base_system_prompt="",
    system_prompt_suffix="Line one.\\n\\nLine two.",
    tool_description_overrides={"ls": "Look."},
    excluded_tools={"grep"},
    excluded_middleware={"PatchToolCallsMiddleware"},
    extra_middleware=lambda: [Extra()],
    general_purpose_subagent=GeneralPurposeSubagentProfile(enabled=True, description="Works."),
)

class TestHarness(Harness):
    profile = ALL

class TestConfig(Harness):
    profile = HarnessProfileConfig(excluded_tools={"grep"})

class TestLazy(Harness):
    profile = LazyProfile("light:PROFILE")

class TestSharing(Harness):
    profile = HarnessProfile(extra_middleware=[Extra()])
    shares_instances = True

class TestFixtures(HarnessProfileConformance):
    module = "light"

    @pytest.fixture
    def key(self):
        return "acme"

    @pytest.fixture
    def profile(self):
        return HarnessProfile(excluded_tools={"grep"})

class TestProvider(Provider):
    profile = ProviderProfile({"region": "eu"}, lambda spec: None, lambda: {"headers": {"x": ["y"]}})

class TestCalled(Provider):
    key = "acme:m"
    profile = ProviderProfile({"depth": 3})
    required = {"name": "m"}

    @staticmethod
    def model_class(*, name, depth):
        return (name, depth)
"""

# Class, what it changes, the test that has to fail, what it says.
BAD = [
    ("Harness", 'key = ":m"', "test_the_key_is_valid", "nothing stands before the colon"),
    ("Harness", "key = None", "test_the_key_is_valid", "set key"),
    ("Provider", "key = None", "test_the_key_is_valid", "set key"),
    ("Harness", "key = 3", "test_the_key_is_valid", "expected a string"),
    ("Provider", 'key = "a: m"', "test_the_key_is_valid", "whitespace beside the colon"),
    ("Harness", 'module = "heavy"', "langchain", "importing heavy imports langchain_core"),
    ("Harness", 'module = "broken"', "langchain", "can't be imported"),
    ("Provider", 'module = ""', "langchain", "module names no module"),
    (
        "Harness",
        'profile = {"excluded_tools": ["ls"]}',
        "test_the_fields_are_valid",
        "it is no harness profile",
    ),
    (
        "Harness",
        'profile = HarnessProfile(tool_description_overrides={"ls": " "})',
        "test_the_fields_are_valid",
        "overrides.ls is empty",
    ),
    (
        "Harness",
        'profile = HarnessProfile(tool_description_overrides={"ls": "L."}, excluded_tools={"ls"})',
        "test_the_fields_are_valid",
        "excluded and described",
    ),
    (
        "Harness",
        'profile = HarnessProfile(excluded_tools={"ls"}, restored_tools={"ls"})',
        "test_the_fields_are_valid",
        "it stays excluded",
    ),
    (
        "Harness",
        'profile = HarnessProfile(excluded_middleware={"A"}, restored_middleware={"A"})',
        "test_the_fields_are_valid",
        "it stays excluded",
    ),
    (
        "Harness",
        'profile = frozen(type("Mine", (HarnessProfile,), {}))(excluded_tools={"ls"})',
        "test_merged_with_an_empty",
        "becomes another one",
    ),
    (
        "Harness",
        "profile = HarnessProfile(extra_middleware=[Extra()])",
        "test_extra_middleware",
        "which all stacks share",
    ),
    (
        "Harness",
        "one = [Extra()]\n    profile = HarnessProfile(extra_middleware=lambda one=one: list(one))",
        "test_extra_middleware",
        "returns the same Extra each time",
    ),
    (
        "Harness",
        "profile = HarnessProfile(extra_middleware=lambda: [Extra(), Extra()])",
        "test_extra_middleware",
        "two of one name",
    ),
    (
        "Harness",
        "profile = HarnessProfile(extra_middleware=lambda: 1 / 0)",
        "test_extra_middleware",
        "ZeroDivisionError",
    ),
    (
        "Harness",
        "profile = HarnessProfile(excluded_middleware={Misnamed})",
        "test_what_can_be_written",
        "is not its .name",
    ),
    (
        "Harness",
        'profile = HarnessProfile(excluded_tools={"gre"})',
        "test_every_name",
        "nearest: grep",
    ),
    (
        "Harness",
        'profile = HarnessProfile(tool_description_overrides={"lss": "L."})',
        "test_every_name",
        "'lss'",
    ),
    (
        "Harness",
        'profile = HarnessProfile(excluded_middleware={"PatchToolCalsMiddleware"})',
        "test_every_name",
        "nearest: PatchToolCallsMiddleware",
    ),
    (
        "Harness",
        'profile = HarnessProfile(restored_tools={"ls"})',
        "test_every_name",
        "which no layer below excludes",
    ),
    ("Harness", 'profile = HarnessProfile("Be brief.\\n")', "test_texts_end", "begins or ends with blanks"),
    (
        "Harness",
        'profile = HarnessProfile(system_prompt_suffix="A \\nB")',
        "test_texts_end",
        "at the end of a line",
    ),
    (
        "Harness",
        'profile = HarnessProfile(general_purpose_subagent=GeneralPurposeSubagentProfile(None, "A\\r\\nB"))',
        "test_texts_end",
        "description has blanks or a carriage return",
    ),
    ("Provider", "profile = HarnessProfile()", "test_it_holds_no_secret", "it is no provider profile"),
    (
        "Provider",
        "profile = ProviderProfile(init_kwargs_factory=Fickle())",
        "test_merged_with_an_empty",
        "other keyword arguments",
    ),
    (
        "Provider",
        'same = {"headers": {}}\n    profile = ProviderProfile(init_kwargs_factory=lambda a=same: dict(a))',
        "test_each_model_gets",
        "the same dictionary or list each time",
    ),
    (
        "Provider",
        "profile = ProviderProfile(init_kwargs_factory=lambda: 1 / 0)",
        "test_each_model_gets",
        "ZeroDivisionError",
    ),
    (
        "Provider",
        'profile = ProviderProfile({"headers": {"x-api-key": "hush"}})',
        "test_it_holds_no_secret",
        "headers.x-api-key: a secret",
    ),
    (
        "Provider",
        'profile = ProviderProfile({"api_keys": ["k"], "hosts": [{"url": "u", "token": "t"}]})',
        "test_it_holds_no_secret",
        "hosts[0].token: a secret",
    ),
    (
        "Provider",
        "profile = ProviderProfile(pre_init=refuse)",
        "test_its_check_lets",
        "no package for acme:any",
    ),
    (
        "Provider",
        'profile = ProviderProfile({"regoin": "eu"})',
        "test_the_model_takes",
        "Chat has no 'regoin'; nearest: region",
    ),
    (
        "Provider",
        'profile = ProviderProfile({"region": 3})',
        "test_the_model_takes",
        "ValidationError",
    ),
    ("Provider", "model_class = None", "test_the_model_takes", "model_class is not set"),
]
HELPERS = """
from langchain.agents.middleware import AgentMiddleware

class Extra(AgentMiddleware):
    pass

class Misnamed(AgentMiddleware):
    serialized_name = "Other"

class Fickle:
    calls = 0

    def __call__(self):
        Fickle.calls += 1
        return {f"call_{Fickle.calls}": True}

def refuse(spec):
    raise ImportError(f"no package for {spec}")
"""


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory):
    """Class and test to the text of the failure, or an empty string for a test that passed."""
    folder = tmp_path_factory.mktemp("suites")
    light = (
        'from deepagents_kernel import HarnessProfile\nPROFILE = HarnessProfile(excluded_tools={"grep"})\n'
    )
    modules = {"light": light, "heavy": "import langchain_core\n", "broken": "import nothing_of_this_name\n"}
    for name, text in modules.items():
        (folder / f"{name}.py").write_text(text, encoding="utf-8")
    bad = [f"class TestBad{number}({base}):\n    {line}\n" for number, (base, line, *_) in enumerate(BAD)]
    (folder / "test_good.py").write_text(HEAD + GOOD, encoding="utf-8")
    (folder / "test_bad.py").write_text("\n\n".join([HEAD, HELPERS, *bad]), encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    path = os.pathsep.join([str(folder), *(entry for entry in sys.path if entry)])
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:asyncio"]
    done = run_process(
        [*command, "-p", "no:xdist", "--junitxml=report.xml"],
        env={**os.environ, "PYTHONPATH": path, "PYTEST_ADDOPTS": ""},
        cwd=folder,
        timeout=300,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = {}
    for case in ET.parse(folder / "report.xml").iter("testcase"):
        problems = [node for node in case if node.tag in ("failure", "error", "skipped")]
        text = "\n".join(f"{node.get('message')} {node.text}" for node in problems)
        found[case.get("classname"), case.get("name")] = text
    return found


def test_good_profiles_pass_every_test(outcomes):
    good = {key: text for key, text in outcomes.items() if key[0].startswith("test_good.")}
    assert set(good.values()) == {""}
    tests = {name for suite in (HarnessProfileConformance, ProviderProfileConformance) for name in dir(suite)}
    assert {name for _, name in good} == {name for name in tests if name.startswith("test_")}
    assert len({suite for suite, _ in good}) == 7


@pytest.mark.parametrize(
    ("number", "test", "says"),
    [(number, test, says) for number, (_, _, test, says) in enumerate(BAD)],
    ids=[f"{test}-{number}" for number, (_, _, test, _) in enumerate(BAD)],
)
def test_a_bad_profile_fails_where_it_is_bad(outcomes, number, test, says):
    (text,) = [
        text
        for (suite, name), text in outcomes.items()
        if suite == f"test_bad.TestBad{number}" and test in name
    ]
    assert says in text


def test_every_test_of_the_suites_was_seen_to_fail():
    tests = {name for suite in (HarnessProfileConformance, ProviderProfileConformance) for name in dir(suite)}
    unseen = [
        name for name in tests if name.startswith("test_") and not any(test in name for _, _, test, _ in BAD)
    ]
    assert unseen == []


def suites(cell):
    return {
        "harness": [HarnessProfileConformance],
        "provider": [ProviderProfileConformance],
        "both": [HarnessProfileConformance, ProviderProfileConformance],
    }[cell]


def test_the_page_names_every_test_and_every_attribute():
    page = section(read("docs/testing.md"), "## Profiles")
    listed = {(suite, code(row[0])) for row in rows(page) for suite in suites(row[1])}
    there = {
        (suite, name)
        for suite in (HarnessProfileConformance, ProviderProfileConformance)
        for name, value in inspect.getmembers(suite)
        if name.startswith("test_") or not (name.startswith("_") or callable(value))
    }
    fixtures = {"given_key", "given_profile", "harness", "provider", "kwargs"}
    assert listed == {(suite, name) for suite, name in there if name not in fixtures}
