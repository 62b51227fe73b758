"""A plan as plain JSON data, and the digest of what matters in it.

The document is the one description of a plan: the text, the difference and the fingerprint are all made
from it, so that whatever changes a fingerprint can also be shown.
"""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

from deepagents_kernel._version import __version__
from deepagents_kernel.explain.plain import class_path, plain, without_addresses
from deepagents_kernel.explain.reasons import why_here
from deepagents_kernel.explain.tokens import TokenCounter, counter_for, tool_schema

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deepagents_kernel.assembly.plan import AgentPlan, Entry, StackPlan
    from deepagents_kernel.assembly.tools import ToolRow
    from deepagents_kernel.errors import Problem
    from deepagents_kernel.plugins.info import PluginRecord

#: Raised when the layout changes in a way that readers of the old one can't follow.
FORMAT = 1

# What an agent is made of. Left out on purpose: versions, words for a reader, and how a place came about.
_STACK_FACTS = (
    "path", "kind", "backend", "prompt", "state_schema", "response_format",
    "skills", "memory", "permissions", "interrupt_on", "excluded_tools",
)  # fmt: skip
_MODEL_FACTS = ("class", "provider", "identifier")
_ENTRY_FACTS = ("segment", "name", "slot", "class", "plugin")
_TOOL_FACTS = ("name", "description", "source", "parameters")


def to_dict(plan: AgentPlan, *, tokens: bool = False) -> dict[str, Any]:
    """A plan as JSON data with a stable layout.

    Args:
        plan: the plan.
        tokens: also count what the prompt and the tools of each stack cost.

    Returns:
        ``format``, ``fingerprint``, ``kernel`` (its version), ``warnings`` and ``main``, the tree of stacks.
    """
    document: dict[str, Any] = {
        "format": FORMAT,
        "fingerprint": "",
        "kernel": __version__,
        "warnings": [_warning(problem) for problem in plan.warnings],
        "main": _stack(plan.main, plan, tokens=tokens),
    }
    document["fingerprint"] = digest(document)
    return document


def fingerprint(plan: AgentPlan) -> str:
    """A digest of what the agent is made of, the same on every machine and for every version of a plugin."""
    return digest(to_dict(plan))


def digest(document: Mapping[str, Any]) -> str:
    """The fingerprint of a plan document: SHA-256 over its facts, with sorted keys."""
    facts = json.dumps(
        _stack_facts(document["main"]), sort_keys=True, ensure_ascii=True, separators=(",", ":")
    )
    return hashlib.sha256(facts.encode("ascii")).hexdigest()


def _stack_facts(stack: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **{key: stack.get(key) for key in _STACK_FACTS},
        "model": {key: stack["model"].get(key) for key in _MODEL_FACTS},
        "profile": stack["profile"].get("key"),
        "entries": [{key: entry.get(key) for key in _ENTRY_FACTS} for entry in stack["entries"]],
        "tools": [{key: tool.get(key) for key in _TOOL_FACTS} for tool in stack["tools"]],
        "children": [_stack_facts(child) for child in stack["children"]],
    }


def _warning(problem: Problem) -> dict[str, str]:
    return {
        "text": without_addresses(problem.text),
        "stack": problem.stack,
        "entry": problem.entry,
        "plugin": problem.plugin,
        "hint": problem.hint,
    }


def _stack(stack: StackPlan, plan: AgentPlan, *, tokens: bool) -> dict[str, Any]:
    from deepagents_kernel.assembly.tools import stack_tools

    context = stack.context
    excluded = context.profile.profile.excluded_tools
    rows = tuple(row for row in stack_tools(stack) if row.name not in excluded)
    counter = counter_for(context) if tokens else None
    document = {
        "path": stack.path,
        "kind": context.kind.value,
        "model": _model(context.model, context.model_spec),
        "profile": {"key": context.profile.key, "layers": plain(context.profile.layers)},
        "backend": class_path(type(context.backend)),
        "prompt": plain(prompt_text(stack.prompt)),
        "state_schema": class_path(stack.state_schema),
        "response_format": plain(context.response_format),
        "skills": plain(context.skills),
        "memory": plain(context.memory),
        "permissions": plain(context.permissions),
        "interrupt_on": plain(context.interrupt_on),
        "entries": [_entry(entry, stack, plan, rows) for entry in stack.entries],
        "dropped": [
            {"name": row.name, "class": class_path(row.cls), "reason": without_addresses(row.reason)}
            for row in stack.dropped
        ],
        "excluded_tools": sorted(excluded),
        "tools": [_tool(row, counter) for row in rows],
        "children": [_stack(child, plan, tokens=tokens) for child in stack.children],
    }
    if counter is not None:
        document["tokens"] = _cost(stack.prompt, rows, counter)
    return document


def _model(model: Any, spec: str) -> dict[str, Any]:
    from deepagents_kernel.models import get_model_identifier, get_model_provider

    return {
        "class": class_path(type(model)),
        "provider": get_model_provider(model) or "",
        "identifier": get_model_identifier(model) or "",
        "spec": spec,
    }


def prompt_text(prompt: Any) -> str | None:
    """The text of a system prompt: a string, or the text blocks of a message; ``None`` for none."""
    if prompt is None or isinstance(prompt, str):
        return prompt
    content = prompt.content
    if isinstance(content, str):
        return content
    texts = [block if isinstance(block, str) else block.get("text", "") for block in content]
    return "\n\n".join(text for text in texts if text)


def _entry(entry: Entry, stack: StackPlan, plan: AgentPlan, rows: tuple[ToolRow, ...]) -> dict[str, Any]:
    spec = entry.spec
    distribution, version = _distribution(plan.plugins.get(entry.plugin))
    return {
        "segment": entry.segment.name.lower(),
        "name": entry.name,
        "slot": entry.slot,
        "class": class_path(entry.cls),
        "plugin": entry.plugin,
        "distribution": distribution,
        "version": version,
        "origin": entry.origin,
        "source": without_addresses(entry.source),
        "replaced": without_addresses(entry.replaced),
        "constraints": {
            "after": list(spec.after) if spec else [],
            "before": list(spec.before) if spec else [],
        },
        "why": why_here(entry, stack, plan.plugins),
        "summary": spec.summary if spec else "",
        "notes": [without_addresses(note) for note in entry.notes],
        "tools": [row.name for row in rows if row.source == entry.name],
    }


def _distribution(record: PluginRecord | None) -> tuple[str, str]:
    if record is None:
        return "", ""
    if record.builtin and not record.distribution:
        return "deepagents-kernel", __version__
    return record.distribution, record.version


def _tool(row: ToolRow, counter: TokenCounter | None) -> dict[str, Any]:
    document = {
        "name": row.name,
        "description": without_addresses(row.description or ""),
        "source": row.source,
        "parameters": _parameters(row.tool),
    }
    if counter is not None:
        document["tokens"] = counter.count([], [tool_schema(row.tool)])
    return document


def _parameters(tool: Any) -> Any:
    # A provider's own tool is a dict that may hold addresses and keys of a server: only its kind is shown.
    if isinstance(tool, dict) and "function" not in tool and "parameters" not in tool:
        return {"type": str(tool.get("type", ""))}
    schema = tool_schema(tool)
    return plain(schema.get("function", schema).get("parameters", {}))


def _cost(prompt: Any, rows: tuple[ToolRow, ...], counter: TokenCounter) -> dict[str, Any]:
    from langchain_core.messages import SystemMessage

    message = SystemMessage(prompt) if isinstance(prompt, str) else prompt
    return {
        "counter": counter.name,
        "exact": counter.exact,
        "prompt": 0 if message is None else counter.count([message], []),
        "tools": counter.count([], [tool_schema(row.tool) for row in rows]) if rows else 0,
    }
