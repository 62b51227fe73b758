"""Fixtures for tests of plugins; pytest finds them where the kernel is installed.

What a fixture needs is imported when it is first used: a test run that uses none pays for none.
There is nothing to rewrite in here, which pytest is told by the word PYTEST_DONT_REWRITE.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any, Protocol

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from deepagents_kernel import BuiltinTable, Kernel
    from deepagents_kernel.testing.distributions import Distribution
    from deepagents_kernel.testing.environments import PluginEnvironment
    from deepagents_kernel.testing.hooks import HookRecorder


class MakeKernel(Protocol):
    """The type of :func:`make_kernel`."""

    def __call__(
        self,
        *plugins: Any,
        disable: Iterable[str] = (),
        settings: Mapping[str, Any] | None = None,
        builtins: BuiltinTable | None = None,
    ) -> Kernel:
        """A kernel with these plugins."""


class MakeRecorder(Protocol):
    """The type of :func:`hook_recorder`."""

    def __call__(self, extra: Mapping[str, Iterable[str] | str] | None = None) -> HookRecorder:
        """A recorder, for the hooks of the kernel and others."""


class MakeEnvironment(Protocol):
    """The type of :func:`plugin_environment` and :func:`plugin_environment_factory`."""

    def __call__(self, *distributions: Distribution) -> PluginEnvironment:
        """A new environment with these distributions installed."""


@pytest.fixture
def make_kernel() -> Iterator[MakeKernel]:
    """Make kernels that look for nothing installed and read no configuration; closed when the test ends.

    ``make_kernel(*plugins, disable=(), settings=None, builtins=None)``; the arguments are those of
    ``Kernel``. Without ``builtins`` the kernel has the built-in plugins, with ``BuiltinTable()`` none.
    """
    from deepagents_kernel import Kernel

    made: list[Kernel] = []

    def make(
        *plugins: Any,
        disable: Iterable[str] = (),
        settings: Mapping[str, Any] | None = None,
        builtins: BuiltinTable | None = None,
    ) -> Kernel:
        made.append(Kernel(plugins, disable=disable, settings=settings, builtins=builtins))
        return made[-1]

    yield make
    for kernel in reversed(made):
        kernel.close()


@pytest.fixture
def hook_recorder() -> MakeRecorder:
    """Make plugins that note which hooks are called; ``hook_recorder(extra=None)``, see ``HookRecorder``."""
    from deepagents_kernel.testing.hooks import HookRecorder

    return HookRecorder


@pytest.fixture
def plugin_environment(tmp_path_factory: pytest.TempPathFactory) -> MakeEnvironment:
    """Make virtual environments for this test; ``plugin_environment(*distributions)``."""
    return _environments(tmp_path_factory)


@pytest.fixture(scope="session")
def plugin_environment_factory(tmp_path_factory: pytest.TempPathFactory) -> MakeEnvironment:
    """The same, for fixtures that keep an environment for a whole module or session."""
    return _environments(tmp_path_factory)


def _environments(folders: pytest.TempPathFactory) -> MakeEnvironment:
    def make(*distributions: Distribution) -> PluginEnvironment:
        from deepagents_kernel.testing.environments import PluginEnvironment

        environment = PluginEnvironment(folders.mktemp("environment"))
        environment.install(*distributions)
        return environment

    return make


def pytest_assertrepr_compare(op: str, left: Any, right: Any) -> list[str] | None:
    """Two plans, or their documents, that were compared with ``==`` and are not equal: what differs."""
    # Where the module of plans was never imported, there is no plan to compare.
    plans = sys.modules.get("deepagents_kernel.assembly.plan")
    if op != "==" or plans is None or not all(_is_plan(side, plans.AgentPlan) for side in (left, right)):
        return None
    from deepagents_kernel.testing.plans import plan_difference

    try:
        lines = plan_difference(left, right)
    except (AssertionError, KeyError, TypeError, AttributeError):
        return None  # a document that only looks like one
    if lines:
        return ["two plans; from left to right:", *lines]
    if isinstance(left, dict) and isinstance(right, dict):
        return None  # pytest shows what differs besides the parts
    return ["two plans of the same parts; a plan equals only itself: compare with assert_same_plan"]


def _is_plan(value: Any, plan: type) -> bool:
    return isinstance(value, plan) or (
        isinstance(value, dict) and {"format", "fingerprint", "kernel", "main"} <= value.keys()
    )
