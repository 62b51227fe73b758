"""deepagents-kernel: an agent harness where every middleware, backend and profile is a named plugin.

Names are imported when they are first used, so that importing this package costs next to nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel._lazy import lazy_exports
from deepagents_kernel._version import __version__ as __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_kernel._builtin import BuiltinTable as BuiltinTable
    from deepagents_kernel.api import create_deep_agent as create_deep_agent
    from deepagents_kernel.api import get_kernel as get_kernel
    from deepagents_kernel.api import register_harness_profile as register_harness_profile
    from deepagents_kernel.api import register_provider_profile as register_provider_profile
    from deepagents_kernel.assembly.context import Contribution as Contribution
    from deepagents_kernel.assembly.context import StackContext as StackContext
    from deepagents_kernel.assembly.plan import AgentPlan as AgentPlan
    from deepagents_kernel.assembly.plan import StackPlan as StackPlan
    from deepagents_kernel.assembly.request import AgentRequest as AgentRequest
    from deepagents_kernel.assembly.request import make_request as make_request
    from deepagents_kernel.assembly.specs import ChildStack as ChildStack
    from deepagents_kernel.assembly.specs import MiddlewareSpec as MiddlewareSpec
    from deepagents_kernel.assembly.specs import PromptPart as PromptPart
    from deepagents_kernel.assembly.specs import Segment as Segment
    from deepagents_kernel.assembly.specs import StackKind as StackKind
    from deepagents_kernel.config.source import Configuration as Configuration
    from deepagents_kernel.contracts.backend_spec import BackendSpec as BackendSpec
    from deepagents_kernel.contracts.permissions import FilesystemPermission as FilesystemPermission
    from deepagents_kernel.contracts.state import DeepAgentState as DeepAgentState
    from deepagents_kernel.contracts.subagents import AsyncSubAgent as AsyncSubAgent
    from deepagents_kernel.contracts.subagents import CompiledSubAgent as CompiledSubAgent
    from deepagents_kernel.contracts.subagents import SubAgent as SubAgent
    from deepagents_kernel.current import use_kernel as use_kernel
    from deepagents_kernel.errors import DeepAgentsError as DeepAgentsError
    from deepagents_kernel.errors import PlanError as PlanError
    from deepagents_kernel.errors import PluginError as PluginError
    from deepagents_kernel.errors import PluginWarning as PluginWarning
    from deepagents_kernel.errors import Problem as Problem
    from deepagents_kernel.hookspecs import hookimpl as hookimpl
    from deepagents_kernel.hookspecs import hookspec as hookspec
    from deepagents_kernel.kernel import Kernel as Kernel
    from deepagents_kernel.model_facts import ModelFacts as ModelFacts
    from deepagents_kernel.plugins.catalog import Catalog as Catalog
    from deepagents_kernel.plugins.catalog import CatalogRow as CatalogRow
    from deepagents_kernel.plugins.catalog import PluginState as PluginState
    from deepagents_kernel.plugins.info import PluginInfo as PluginInfo
    from deepagents_kernel.profiles.config import HarnessProfileConfig as HarnessProfileConfig
    from deepagents_kernel.profiles.harness import (
        GeneralPurposeSubagentProfile as GeneralPurposeSubagentProfile,
    )
    from deepagents_kernel.profiles.harness import HarnessProfile as HarnessProfile
    from deepagents_kernel.profiles.provider import ProviderProfile as ProviderProfile

_EXPORTS = {
    "AgentPlan": "assembly.plan",
    "AgentRequest": "assembly.request",
    "AsyncSubAgent": "contracts.subagents",
    "BackendSpec": "contracts.backend_spec",
    "BuiltinTable": "_builtin",
    "Catalog": "plugins.catalog",
    "CatalogRow": "plugins.catalog",
    "ChildStack": "assembly.specs",
    "CompiledSubAgent": "contracts.subagents",
    "Configuration": "config.source",
    "Contribution": "assembly.context",
    "DeepAgentState": "contracts.state",
    "DeepAgentsError": "errors",
    "FilesystemPermission": "contracts.permissions",
    "GeneralPurposeSubagentProfile": "profiles.harness",
    "HarnessProfile": "profiles.harness",
    "HarnessProfileConfig": "profiles.config",
    "Kernel": "kernel",
    "MiddlewareSpec": "assembly.specs",
    "ModelFacts": "model_facts",
    "PlanError": "errors",
    "PluginError": "errors",
    "PluginInfo": "plugins.info",
    "PluginState": "plugins.catalog",
    "PluginWarning": "errors",
    "Problem": "errors",
    "PromptPart": "assembly.specs",
    "ProviderProfile": "profiles.provider",
    "Segment": "assembly.specs",
    "StackContext": "assembly.context",
    "StackKind": "assembly.specs",
    "StackPlan": "assembly.plan",
    "SubAgent": "contracts.subagents",
    "__version__": "_version",
    "create_deep_agent": "api",
    "get_kernel": "api",
    "hookimpl": "hookspecs",
    "hookspec": "hookspecs",
    "make_request": "assembly.request",
    "register_harness_profile": "api",
    "register_provider_profile": "api",
    "use_kernel": "current",
}


def _exports() -> Mapping[str, str]:
    from deepagents_kernel._builtin import load_table

    own = {name: f"{__name__}.{module}:{name}" for name, module in _EXPORTS.items()}
    return {**own, **load_table().exports}


def _absent() -> Mapping[str, str]:
    from deepagents_kernel._builtin import load_table

    return load_table().absent


__getattr__, __dir__ = lazy_exports(__name__, exports=_exports, absent=_absent)
