"""The behaviours of the Nemotron profile as plugins of their own, for any model."""

import subprocess
import sys

import pytest

from deepagents_builtin.profiles.harness.nemotron.profile import behaviours
from deepagents_kernel import Kernel, make_request
from deepagents_kernel._builtin import load_table
from deepagents_kernel.testing import ScriptedChatModel

TABLE = load_table()
NAMES = sorted(name for name, where in TABLE.plugins.items() if ".nemotron.selectable:" in where)


def order(kernel, model=None, path="main"):
    model = model or ScriptedChatModel(["done"])
    plan = kernel.plan(make_request(model))
    return [entry.name for entry in plan.stack(path).entries]


def test_every_behaviour_of_the_package_can_be_chosen():
    classes = {type(item).__name__ for item in behaviours()}
    on = Kernel.discover(enable=NAMES, autoload=False)
    added = set(order(on)) - set(order(Kernel()))
    # LangChain's own retry is no behaviour of this package.
    assert added == classes - {"ToolRetryMiddleware"}
    assert added <= set(order(on, path="main/general-purpose"))


@pytest.mark.parametrize("name", NAMES)
def test_each_is_off_until_it_is_enabled_and_adds_one_middleware(name):
    assert name in TABLE.optional
    kernel = Kernel.discover(enable=[name], autoload=False)
    (added,) = set(order(kernel)) - set(order(Kernel()))
    assert kernel.catalog.row(name).provides == ("middleware",)
    assert added


def test_with_the_profile_there_is_one_of_each_all_the_same():
    spec = "nvidia:nvidia/nemotron-3-ultra-550b-a55b"
    provider, _, identifier = spec.partition(":")
    model = ScriptedChatModel(["done"], provider=provider, model_name=identifier)
    with_profile = order(Kernel(), model)
    both = order(Kernel.discover(enable=NAMES, autoload=False), model)
    assert sorted(both) == sorted(with_profile)
    assert len(set(both)) == len(both)


def test_a_plugin_without_the_profile_works_on_another_model():
    model = ScriptedChatModel(["<think>Hm.</think>Noon."])
    kernel = Kernel.discover(enable=["reasoning-tags"], autoload=False)
    answer = kernel.create_deep_agent(model).invoke({"messages": "When?"})["messages"][-1]
    assert answer.text == "Noon."
    assert answer.additional_kwargs["reasoning_content"] == "Hm."


def test_nothing_of_them_is_imported_while_they_are_off():
    code = (
        "import sys\nfrom deepagents_kernel import Kernel\nKernel()\n"
        "assert not [name for name in sys.modules if name.endswith('nemotron.selectable')]\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)
