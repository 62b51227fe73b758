"""Tell about installed plugins that are missing although nobody switched them off."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

from deepagents_kernel.errors import PluginWarning
from deepagents_kernel.log import get_logger
from deepagents_kernel.plugins.catalog import PluginState

if TYPE_CHECKING:
    from collections.abc import Iterable

    from deepagents_kernel.plugins.catalog import Catalog

_log = get_logger(__name__)


def report(catalog: Catalog, stacklevel: int) -> None:
    """Warn once about each installed plugin that is missing although nobody switched it off.

    A filter that turns warnings into errors must not cost the kernel, which is complete by now: the log has
    the same.
    """
    for trouble in catalog.troubles:
        _log.warning("plugin_scan_trouble", where=trouble.where, reason=trouble.reason)
    for text in complaints(catalog):
        try:
            warnings.warn(text, PluginWarning, stacklevel=stacklevel + 1)
        except PluginWarning:
            _log.warning("plugin_warning", text=text)


def complaints(catalog: Catalog) -> Iterable[str]:
    """One line for each plugin that is missing although nobody switched it off."""
    for trouble in catalog.troubles:
        yield f"plugins of {trouble.where} can't be read: {trouble.reason}"
    for row in catalog.having(PluginState.FAILED, PluginState.INCOMPATIBLE):
        target = f", {row.target}" if row.target else ""
        yield f"plugin {row.name} ({row.origin}{target}) {row.state}: {row.why}; {row.hint}"
    for row in catalog.having(PluginState.BLOCKED):
        if not row.decision.blocked:
            yield f"plugin {row.name} ({row.origin}) {row.state}: {row.why}; {row.hint}"
