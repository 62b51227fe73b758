"""What can be imported from where."""

import subprocess
import sys

import pytest

import deepagents_kernel
import deepagents_kernel.backends
import deepagents_kernel.middleware
import deepagents_kernel.profiles
from deepagents_kernel._builtin import load_table

SURFACE = [
    "AgentPlan",
    "AgentRequest",
    "AsyncSubAgent",
    "BackendSpec",
    "BuiltinTable",
    "Catalog",
    "CatalogRow",
    "ChildStack",
    "CompiledSubAgent",
    "Configuration",
    "Contribution",
    "DeepAgentState",
    "DeepAgentsError",
    "FilesystemMiddleware",
    "FilesystemPermission",
    "FsToolName",
    "GeneralPurposeSubagentProfile",
    "HarnessProfile",
    "HarnessProfileConfig",
    "Kernel",
    "MiddlewareSpec",
    "ModelFacts",
    "PlanError",
    "PluginError",
    "PluginInfo",
    "PluginState",
    "PluginWarning",
    "Problem",
    "PromptPart",
    "ProviderProfile",
    "Segment",
    "StackContext",
    "StackKind",
    "StackPlan",
    "SubAgent",
    "SubAgentMiddleware",
    "__version__",
    "create_deep_agent",
    "get_kernel",
    "hookimpl",
    "hookspec",
    "make_request",
    "register_harness_profile",
    "register_provider_profile",
    "use_kernel",
]


def test_the_public_surface_is_exactly_this():
    assert sorted(deepagents_kernel.__all__) == sorted(SURFACE)
    for name in SURFACE:
        assert getattr(deepagents_kernel, name) is not None
        assert name in dir(deepagents_kernel)


@pytest.mark.parametrize(
    "door",
    [deepagents_kernel, deepagents_kernel.backends, deepagents_kernel.middleware, deepagents_kernel.profiles],
)
def test_every_name_of_a_door_can_be_had(door):
    assert door.__all__
    for name in door.__all__:
        assert getattr(door, name) is not None


@pytest.mark.parametrize(
    ("door", "name", "plugin"),
    [
        (deepagents_kernel, "MemoryMiddleware", "middleware.memory"),
        (deepagents_kernel, "AsyncSubAgentMiddleware", "middleware.async-subagents"),
        (deepagents_kernel, "RubricMiddleware", "middleware.rubric"),
        (deepagents_kernel.middleware, "SkillsMiddleware", "middleware.skills"),
        (deepagents_kernel.backends, "CompositeBackend", "backend.composite"),
    ],
)
def test_a_part_that_is_not_here_says_which_plugin_brings_it(door, name, plugin):
    assert name not in door.__all__
    with pytest.raises(AttributeError, match=plugin):
        getattr(door, name)


def test_a_misspelt_name_gets_the_nearest():
    with pytest.raises(AttributeError, match="nearest: create_deep_agent"):
        deepagents_kernel.create_deepagent  # noqa: B018


def test_importing_the_package_imports_nothing_heavy():
    heavy = [
        "langchain",
        "langchain_core",
        "langgraph",
        "pydantic",
        "cattrs",
        "structlog",
        "click",
        "rich",
        "attr",
    ]
    code = f"import sys, deepagents_kernel; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)
    assert done.stdout.strip() == "[]"


def test_type_checkers_see_every_name():
    """The names that a type checker is told are those of the table; __getattr__ tells it nothing."""
    import ast
    from pathlib import Path

    tree = ast.parse(Path(deepagents_kernel.__file__).read_text(encoding="utf-8"))
    told = {
        alias.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
        if alias.asname == alias.name
    }
    published = set(load_table().exports)
    assert told == set(SURFACE) - published
