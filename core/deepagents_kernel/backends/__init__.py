"""The backends that users import, and the protocol: a lazy door to the rooms where the code lives."""

from deepagents_kernel._builtin import load_table
from deepagents_kernel._lazy import lazy_exports

_CONTRACTS = {
    "BackendProtocol": "deepagents_kernel.contracts.backend:BackendProtocol",
    "SandboxBackendProtocol": "deepagents_kernel.contracts.backend:SandboxBackendProtocol",
}

__getattr__, __dir__ = lazy_exports(
    __name__,
    exports=lambda: {**_CONTRACTS, **load_table().backend_exports},
    absent=lambda: {
        name: plugin for name, plugin in load_table().absent.items() if plugin.startswith("backend.")
    },
)
