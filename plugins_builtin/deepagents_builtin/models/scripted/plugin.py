"""The ``model.scripted`` plugin."""

from __future__ import annotations

from typing import Any

from deepagents_kernel.errors import ModelSpecError
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

PLUGIN = PluginInfo(summary="Offers the model 'scripted:PATH', which plays turns from a JSON or JSONL file.")


@hookimpl
def deepagents_resolve_model(spec: str) -> Any | None:
    """Answer to ``scripted:PATH``; the file is read once, now, relative to the working directory.

    Raises:
        ModelSpecError: no path, or a file that can't be read as turns; file and line are named.
    """
    scheme, _, path = spec.partition(":")
    if scheme != "scripted":
        return None
    if not path.strip():
        raise ModelSpecError(
            spec,
            "the file with the turns is missing",
            'write: scripted:turns.jsonl, with lines such as {"text": "done"} or '
            '{"tool_calls": [{"name": "ls", "args": {"path": "/"}}]}',
        )
    from deepagents_builtin.models.scripted.turns import load_turns
    from deepagents_kernel.testing.scripted import ScriptedChatModel

    return ScriptedChatModel(load_turns(spec, path))
