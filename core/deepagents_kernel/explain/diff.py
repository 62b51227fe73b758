"""What differs between two plan documents, line by line."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from deepagents_kernel.explain.text import printable

_PROMPT_LINES = 12
_FACTS = (
    "kind",
    "backend",
    "state_schema",
    "response_format",
    "skills",
    "memory",
    "permissions",
    "interrupt_on",
    "excluded_tools",
)


def diff(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[str]:
    """What changed from plan document *a* to *b*, in words.

    Args:
        a: the older document, as ``to_dict`` made it.
        b: the newer one.

    Returns:
        One line for each difference, stacks in order. Lines that begin with ``same stack:`` tell of
        versions: they leave what the agent is made of unchanged. Empty if nothing differs.
    """
    old, new = _stacks(a), _stacks(b)
    lines = [f"{path}: stack removed" for path in old if path not in new]
    for path, stack in new.items():
        if path not in old:
            lines.append(f"{path}: stack added ({stack['kind']}, {len(stack['entries'])} entries)")
        else:
            lines += [f"{path}: {line}" for line in _stack(old[path], stack)]
    return lines + [f"same stack: {line}" for line in _versions(a, b)]


def _stacks(document: Mapping[str, Any]) -> dict[str, Mapping[str, Any]]:
    found: dict[str, Mapping[str, Any]] = {}

    def visit(stack: Mapping[str, Any]) -> None:
        found[stack["path"]] = stack
        for child in stack["children"]:
            visit(child)

    visit(document["main"])
    return found


def _stack(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    yield from _model(a["model"], b["model"])
    if a["profile"]["key"] != b["profile"]["key"]:
        yield f"profile {a['profile']['key'] or 'none'} -> {b['profile']['key'] or 'none'}"
    for key in _FACTS:
        if a.get(key) != b.get(key):
            yield f"{key} {_value(a.get(key))} -> {_value(b.get(key))}"
    yield from _prompt(a["prompt"] or "", b["prompt"] or "")
    yield from _entries(a["entries"], b["entries"])
    yield from _tools(a["tools"], b["tools"])
    yield from _order("stack", [c["path"] for c in a["children"]], [c["path"] for c in b["children"]])


def _model(a: Mapping[str, str], b: Mapping[str, str]) -> Iterator[str]:
    for key in ("class", "provider", "identifier"):
        if a[key] != b[key]:
            yield f"model {key} {a[key] or 'none'} -> {b[key] or 'none'}"


def _value(value: Any) -> str:
    if value is None:
        return "not set"
    return printable(value if isinstance(value, str) else repr(value))


def _prompt(a: str, b: str) -> Iterator[str]:
    if a == b:
        return
    yield f"prompt changed ({len(a):,} -> {len(b):,} characters)"
    changes = [
        line
        for line in difflib.unified_diff(a.splitlines(), b.splitlines(), lineterm="", n=0)
        if not line.startswith(("---", "+++", "@@"))
    ]
    for line in changes[:_PROMPT_LINES]:
        yield f"  {printable(line)[:120]}"
    if len(changes) > _PROMPT_LINES:
        yield f"  ... and {len(changes) - _PROMPT_LINES} more changed lines"


def _entries(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    old, new = _by_name(a), _by_name(b)
    yield from (f"- {_entry(old[name])}" for name in old if name not in new)
    yield from (f"+ {_entry(new[name])}" for name in new if name not in old)
    for name in new:
        if name in old:
            yield from _changed(old[name], new[name])
    yield from _order("entry", list(old), list(new))


def _by_name(rows: Sequence[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    return {row["name"]: row for row in rows}


def _entry(entry: Mapping[str, Any]) -> str:
    owner = entry["plugin"] or entry["source"] or entry["origin"]
    return f"{entry['name']} ({entry['segment']}, {owner})"


def _changed(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    if a["class"] != b["class"]:
        yield f"~ {b['name']}: replaced, {a['class']} -> {b['class']}"
    for key in ("segment", "slot", "plugin"):
        if a[key] != b[key]:
            yield f"~ {b['name']}: {key} {a[key] or 'none'} -> {b[key] or 'none'}"


def _tools(a: Sequence[Mapping[str, Any]], b: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    old, new = _by_name(a), _by_name(b)
    yield from (f"- tool {name} (from {old[name]['source']})" for name in old if name not in new)
    yield from (f"+ tool {name} (from {new[name]['source']})" for name in new if name not in old)
    for name in new:
        if name in old:
            yield from _tool(old[name], new[name])
    yield from _order("tool", list(old), list(new))


def _tool(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    if a["source"] != b["source"]:
        yield f"~ tool {b['name']}: from {a['source']} -> {b['source']}"
    if a["description"] != b["description"]:
        yield f"~ tool {b['name']}: description changed"
    if a["parameters"] != b["parameters"]:
        yield f"~ tool {b['name']}: arguments changed{_arguments(a['parameters'], b['parameters'])}"


def _arguments(a: Any, b: Any) -> str:
    old, new = _properties(a), _properties(b)
    parts = [f"-{name}" for name in old if name not in new] + [f"+{name}" for name in new if name not in old]
    parts += [f"~{name}" for name in new if name in old and old[name] != new[name]]
    return f" ({', '.join(parts)})" if parts else ""


def _properties(parameters: Any) -> Mapping[str, Any]:
    found = parameters.get("properties") if isinstance(parameters, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _order(what: str, a: Sequence[str], b: Sequence[str]) -> Iterator[str]:
    """Rows that both have and that moved: those outside the longest run of equal order."""
    common = [name for name in a if name in set(b)]
    target = [name for name in b if name in set(a)]
    if common == target:
        return
    matcher = difflib.SequenceMatcher(None, common, target, autojunk=False)
    kept = {
        name for block in matcher.get_matching_blocks() for name in common[block.a : block.a + block.size]
    }
    for name in target:
        if name not in kept:
            place = b.index(name)
            before = f"behind {_label(what, b[place - 1])}" if place else "to the front"
            yield f"> {_label(what, name)} moved {before}"


def _label(what: str, name: str) -> str:
    return {"entry": name, "tool": f"tool {name}", "stack": f"stack {short_path(name)}"}[what]


def short_path(path: str) -> str:
    """The name of a stack among its siblings."""
    return path.rpartition("/")[2]


def _versions(a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[str]:
    old, new = _distributions(a), _distributions(b)
    for name in sorted(new):
        if name in old and old[name] != new[name]:
            yield f"{name} {old[name] or 'unversioned'} -> {new[name] or 'unversioned'}"


def _distributions(document: Mapping[str, Any]) -> dict[str, str]:
    rows = [entry for stack in _stacks(document).values() for entry in stack["entries"]]
    found = {
        f"{row['plugin']} ({row['distribution']})": row["version"] for row in rows if row["distribution"]
    }
    return {"deepagents-kernel": document.get("kernel", ""), **found}
