"""What plugin authors test with; names are imported when they are first used."""

from deepagents_kernel._lazy import lazy_exports

_EXPORTS = {
    "LocalChatModel": "deepagents_kernel.testing.local:LocalChatModel",
    "RecordedRequest": "deepagents_kernel.testing.scripted:RecordedRequest",
    "ScriptExhaustedError": "deepagents_kernel.testing.scripted:ScriptExhaustedError",
    "ScriptedChatModel": "deepagents_kernel.testing.scripted:ScriptedChatModel",
}

__getattr__, __dir__ = lazy_exports(__name__, exports=lambda: _EXPORTS, absent=dict)
