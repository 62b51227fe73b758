"""What plugin authors test with; names are imported when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deepagents_kernel._lazy import lazy_exports

# For type checkers: plugin authors subclass some of these.
if TYPE_CHECKING:
    from deepagents_kernel.testing.conformance_profiles import (
        HarnessProfileConformance,
        ProviderProfileConformance,
    )
    from deepagents_kernel.testing.distributions import (
        Distribution,
        DistributionError,
        write_source,
        write_wheel,
    )
    from deepagents_kernel.testing.environments import PluginEnvironment, PluginEnvironmentError
    from deepagents_kernel.testing.hooks import HookCall, HookRecorder
    from deepagents_kernel.testing.local import LocalChatModel
    from deepagents_kernel.testing.plans import assert_problem, assert_same_plan, assert_stack, assert_tools
    from deepagents_kernel.testing.processes import Completed, ProcessTimeoutError
    from deepagents_kernel.testing.scripted import RecordedRequest, ScriptedChatModel, ScriptExhaustedError

__all__ = [
    "Completed",
    "Distribution",
    "DistributionError",
    "HarnessProfileConformance",
    "HookCall",
    "HookRecorder",
    "LocalChatModel",
    "PluginEnvironment",
    "PluginEnvironmentError",
    "ProcessTimeoutError",
    "ProviderProfileConformance",
    "RecordedRequest",
    "ScriptExhaustedError",
    "ScriptedChatModel",
    "assert_problem",
    "assert_same_plan",
    "assert_stack",
    "assert_tools",
    "write_source",
    "write_wheel",
]

_HERE = "deepagents_kernel.testing"

_EXPORTS = {
    "Completed": f"{_HERE}.processes:Completed",
    "Distribution": f"{_HERE}.distributions:Distribution",
    "DistributionError": f"{_HERE}.distributions:DistributionError",
    "HarnessProfileConformance": f"{_HERE}.conformance_profiles:HarnessProfileConformance",
    "HookCall": f"{_HERE}.hooks:HookCall",
    "HookRecorder": f"{_HERE}.hooks:HookRecorder",
    "LocalChatModel": f"{_HERE}.local:LocalChatModel",
    "PluginEnvironment": f"{_HERE}.environments:PluginEnvironment",
    "PluginEnvironmentError": f"{_HERE}.environments:PluginEnvironmentError",
    "ProcessTimeoutError": f"{_HERE}.processes:ProcessTimeoutError",
    "ProviderProfileConformance": f"{_HERE}.conformance_profiles:ProviderProfileConformance",
    "RecordedRequest": f"{_HERE}.scripted:RecordedRequest",
    "ScriptExhaustedError": f"{_HERE}.scripted:ScriptExhaustedError",
    "ScriptedChatModel": f"{_HERE}.scripted:ScriptedChatModel",
    "assert_problem": f"{_HERE}.plans:assert_problem",
    "assert_same_plan": f"{_HERE}.plans:assert_same_plan",
    "assert_stack": f"{_HERE}.plans:assert_stack",
    "assert_tools": f"{_HERE}.plans:assert_tools",
    "write_source": f"{_HERE}.distributions:write_source",
    "write_wheel": f"{_HERE}.distributions:write_wheel",
}

__getattr__, __dir__ = lazy_exports(__name__, exports=lambda: _EXPORTS, absent=dict)
