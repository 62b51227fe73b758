"""Access rules for file tools, at the place where users look for them."""

from deepagents_kernel.contracts.permissions import FilesystemPermission

__all__ = ["FilesystemPermission"]
