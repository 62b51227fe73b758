"""What plugin authors test with; names are imported when they are first used."""

from deepagents_kernel._lazy import lazy_exports

_HERE = "deepagents_kernel.testing"

_EXPORTS = {
    "Completed": f"{_HERE}.processes:Completed",
    "Distribution": f"{_HERE}.distributions:Distribution",
    "DistributionError": f"{_HERE}.distributions:DistributionError",
    "HookCall": f"{_HERE}.hooks:HookCall",
    "HookRecorder": f"{_HERE}.hooks:HookRecorder",
    "LocalChatModel": f"{_HERE}.local:LocalChatModel",
    "PluginEnvironment": f"{_HERE}.environments:PluginEnvironment",
    "PluginEnvironmentError": f"{_HERE}.environments:PluginEnvironmentError",
    "ProcessTimeoutError": f"{_HERE}.processes:ProcessTimeoutError",
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
