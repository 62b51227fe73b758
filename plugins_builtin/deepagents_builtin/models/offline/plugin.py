"""The ``model.offline`` plugin."""

from __future__ import annotations

from typing import Any

from deepagents_kernel.errors import ModelSpecError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

PLUGIN = PluginInfo(
    summary="Offers the model 'offline': fixed rules that explore, read and report; no network."
)


@hookimpl
def deepagents_resolve_model(spec: str) -> Any | None:
    """Answer to ``offline`` and ``offline:``.

    Raises:
        ModelSpecError: something stands behind the colon.
    """
    scheme, _, rest = spec.partition(":")
    if scheme != "offline":
        return None
    if rest:
        raise ModelSpecError(spec, f"there is one offline model, and it takes no {rest!r}", "write: offline")
    from deepagents_builtin.models.offline.model import OfflineChatModel

    return OfflineChatModel()
