"""The middleware that users import: a lazy door to the rooms where the code lives."""

from deepagents_kernel._builtin import load_table
from deepagents_kernel._lazy import lazy_exports

_CONTRACTS = {
    "AsyncSubAgent": "deepagents_kernel.contracts.subagents:AsyncSubAgent",
    "CompiledSubAgent": "deepagents_kernel.contracts.subagents:CompiledSubAgent",
    "FilesystemPermission": "deepagents_kernel.contracts.permissions:FilesystemPermission",
    "SubAgent": "deepagents_kernel.contracts.subagents:SubAgent",
}

__getattr__, __dir__ = lazy_exports(
    __name__,
    exports=lambda: {**_CONTRACTS, **load_table().middleware_exports},
    absent=lambda: {
        name: plugin for name, plugin in load_table().absent.items() if plugin.startswith("middleware.")
    },
)
