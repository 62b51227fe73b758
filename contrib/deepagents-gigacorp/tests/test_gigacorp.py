"""The profiles keep what every profile has to keep, and do what the README says."""

from pathlib import Path

import pytest
from deepagents_kernel import make_request
from deepagents_kernel.errors import ModelSpecError
from deepagents_kernel.testing import (
    HarnessProfileConformance,
    ProviderProfileConformance,
    assert_stack,
    assert_tools,
)

from deepagents_gigacorp import harness, models, provider
from deepagents_gigacorp.chat import GigacorpChat

PLUGINS = [("model.gigacorp", models), ("provider.gigacorp", provider), ("harness.gigacorp", harness)]


class TestProvider(ProviderProfileConformance):
    key = "gigacorp"
    profile = provider.PROFILE
    module = "deepagents_gigacorp.provider"
    model_class = GigacorpChat


class TestHarness(HarnessProfileConformance):
    key = "gigacorp"
    profile = harness.ALL
    module = "deepagents_gigacorp.harness"


class TestLargeHarness(HarnessProfileConformance):
    key = "gigacorp:large"
    profile = harness.LARGE
    module = "deepagents_gigacorp.large"
    plugins = PLUGINS


@pytest.fixture
def plan(make_kernel):
    """Plan an agent on a model."""
    kernel = make_kernel(*PLUGINS)
    return lambda spec: kernel.plan(make_request(spec))


def test_the_large_one_may_search(plan):
    assert_tools(plan("gigacorp:large"), "main", has="grep")
    assert_tools(plan("gigacorp:small"), "main", lacks="grep")


def test_receipts_are_kept_in_every_stack_of_the_large_one(plan):
    found = plan("gigacorp:large")
    for stack in found.stacks():
        assert_stack(found, stack.path, ["ReceiptsMiddleware"], exact=False)


def test_the_model_is_made_as_the_profile_says(plan):
    model = plan("gigacorp:large").main.context.model
    assert (model.region, model.default_headers) == ("eu", {"x-gigacorp-client": "deepagents-gigacorp"})


def test_it_works(make_kernel):
    agent = make_kernel(*PLUGINS).create_deep_agent("gigacorp:large")
    answer = agent.invoke({"messages": "look around"})["messages"][-1].text
    assert answer.startswith("I am large in eu, and I saw: ")


def test_a_misspelt_model_is_answered_with_the_nearest(plan):
    with pytest.raises(ModelSpecError, match="nearest: large"):
        plan("gigacorp:larg")


def test_it_is_found_where_it_is_installed(plugin_environment):
    environment = plugin_environment()
    environment.install_editable(Path(__file__).parents[1])
    done = environment.cli("profiles", "explain", "gigacorp:large")
    assert done.returncode == 0, done.stderr
    assert "gigacorp:large (harness.gigacorp)" in done.stdout
