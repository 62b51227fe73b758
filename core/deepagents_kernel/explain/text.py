"""A plan as text: a tree that a person can read in a terminal of 100 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import TYPE_CHECKING, Any

from deepagents_kernel.explain.document import to_dict
from deepagents_kernel.files.text import steers_display

if TYPE_CHECKING:
    from deepagents_kernel.assembly.plan import AgentPlan

WIDTH = 100
_LABEL = 11
_EXCERPT = 160


def render(plan: AgentPlan, *, tokens: bool = True) -> str:
    """A plan as text: every stack, and for each entry its origin, its reason and its tools.

    Args:
        plan: the plan.
        tokens: also show what prompts and tools cost.

    Returns:
        Lines of at most 100 columns, without control characters.
    """
    return render_document(to_dict(plan, tokens=tokens))


def render_document(document: Mapping[str, Any]) -> str:
    """A stored plan document as the same text."""
    lines = [line for stack, depth in _walk(document["main"], 0) for line in (*_stack(stack, depth), "")]
    lines += _warnings(document["warnings"])
    lines.append(f"fingerprint {document['fingerprint']}")
    return "\n".join(lines)


def _walk(stack: Mapping[str, Any], depth: int) -> Iterator[tuple[Mapping[str, Any], int]]:
    yield stack, depth
    for child in stack["children"]:
        yield from _walk(child, depth + 1)


def _stack(stack: Mapping[str, Any], depth: int) -> Iterator[str]:
    margin = "  " * depth
    kind = "" if stack["kind"] == stack["path"] else f"  ({stack['kind']})"
    yield f"{margin}{printable(stack['path'])}{kind}"
    inner = f"{margin}  "
    for label, text in _facts(stack):
        yield from _row(inner, label, text)
    for segment, entries in groupby(stack["entries"], key=lambda entry: str(entry["segment"])):
        yield f"{inner}{segment}"
        for entry in entries:
            yield from _entry(entry, stack, f"{inner}  ")
    brought = {entry["name"] for entry in stack["entries"]}
    own = [tool for tool in stack["tools"] if tool["source"] not in brought]
    if own:
        yield from _row(inner, "tools", f"{_tools(own, stack)}, from {_sources(own)}")
    for row in stack["dropped"]:
        yield from _row(inner, "left out", f"{row['name']}: {row['reason']}")


def _facts(stack: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    yield "model", _model(stack["model"])
    profile = stack["profile"]
    layers = profile["layers"] or []
    yield "profile", f"{profile['key'] or 'none'}{_from(layers) if layers else ''}"
    yield "backend", short(stack["backend"])
    yield "prompt", _prompt(stack)
    for label in ("skills", "memory"):
        if stack[label] is not None:
            yield label, ", ".join(stack[label]) or "none"
    if stack["permissions"] is not None:
        yield "rules", "; ".join(_rule(rule) for rule in stack["permissions"]) or "none"
    if stack["interrupt_on"]:
        yield (
            "approval",
            ", ".join(sorted(name for name, value in stack["interrupt_on"].items() if value)) or "none",
        )
    if stack["excluded_tools"]:
        yield "hidden", f"{', '.join(stack['excluded_tools'])} (the profile excludes them)"
    cost = stack.get("tokens")
    if cost is not None and stack["tools"]:
        yield "cost", f"{_plural(len(stack['tools']), 'tool')}, {_count(cost['tools'], cost)}{_counter(cost)}"


def _from(layers: Sequence[Any]) -> str:
    return f"  (from {', '.join(str(layer) for layer in layers)})"


def _model(model: Mapping[str, str]) -> str:
    named = model["spec"] or ":".join(part for part in (model["provider"], model["identifier"]) if part)
    return f"{named}  ({short(model['class'])})" if named else short(model["class"])


def _prompt(stack: Mapping[str, Any]) -> str:
    prompt = stack["prompt"]
    if not prompt:
        return "none"
    cost = stack.get("tokens")
    size = f"{len(prompt):,} characters"
    if cost is not None:
        size += f", {_count(cost['prompt'], cost)}"
    first = textwrap.shorten(printable(prompt), _EXCERPT, placeholder=" ...")
    return f'{size}: "{first}"'


def _rule(rule: Any) -> str:
    if not isinstance(rule, Mapping):
        return str(rule)
    what = [", ".join(map(str, value)) for value in rule.values() if isinstance(value, list)]
    return " ".join([str(rule.get("mode", "")), *what]).strip()


def _count(number: int, cost: Mapping[str, Any]) -> str:
    return f"{'' if cost['exact'] else 'about '}{number:,} tokens"


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _counter(cost: Mapping[str, Any]) -> str:
    if cost["exact"]:
        return f" by {cost['counter']}"
    return " (approximate: four characters a token)"


def _entry(entry: Mapping[str, Any], stack: Mapping[str, Any], margin: str) -> Iterator[str]:
    yield from _wrapped(f"{margin}{entry['name']:<36}  {_owner(entry)}".rstrip(), f"{margin}  ")
    inner = f"{margin}  "
    if short(entry["class"]) != entry["name"]:
        yield from _row(inner, "class", entry["class"])
    if entry["summary"]:
        yield from _row(inner, "does", entry["summary"])
    yield from _row(inner, "here", entry["why"])
    if entry["origin"] != "plugin":
        yield from _row(inner, "filled by", entry["source"] or entry["origin"])
    if entry["replaced"]:
        yield from _row(inner, "replaced", entry["replaced"])
    brought = [tool for tool in stack["tools"] if tool["source"] == entry["name"]]
    if brought:
        yield from _row(inner, "tools", _tools(brought, stack))
    for note in entry["notes"]:
        yield from _row(inner, "note", note)


def _owner(entry: Mapping[str, Any]) -> str:
    parts = [entry["plugin"], f"{entry['distribution']} {entry['version']}".strip()]
    return ", ".join(part for part in parts if part)


def _tools(tools: Sequence[Mapping[str, Any]], stack: Mapping[str, Any]) -> str:
    cost = stack.get("tokens")
    if cost is None:
        return ", ".join(tool["name"] for tool in tools)
    names = ", ".join(f"{tool['name']} {tool['tokens']:,}" for tool in tools)
    return (
        f"{names}: {_count(sum(tool['tokens'] for tool in tools), cost)}"
        if len(tools) > 1
        else f"{names} tokens"
    )


def _sources(tools: Sequence[Mapping[str, Any]]) -> str:
    return ", ".join(
        sorted({f"the {tool['source']}" if tool["source"] == "caller" else tool["source"] for tool in tools})
    )


def _warnings(warnings: Sequence[Mapping[str, str]]) -> Iterator[str]:
    for warning in warnings:
        where = f"{warning['stack']}: " if warning["stack"] else ""
        hint = f" ({warning['hint']})" if warning["hint"] else ""
        yield from _wrapped(f"warning    {where}{warning['text']}{hint}", " " * _LABEL)
    if warnings:
        yield ""


def _row(margin: str, label: str, text: str) -> Iterator[str]:
    yield from _wrapped(f"{margin}{label:<{_LABEL}}{text}", margin + " " * _LABEL)


def _wrapped(line: str, hanging: str) -> list[str]:
    return textwrap.wrap(
        printable(line), WIDTH, subsequent_indent=hanging, break_on_hyphens=False, drop_whitespace=True
    ) or [""]


def printable(text: str) -> str:
    """*text* on one line and without control characters, so that it can't steer a terminal."""
    return "".join(" " if char.isspace() or steers_display(char) else char for char in text)


def short(path: str) -> str:
    """The last part of a class path."""
    return path.rpartition(".")[2]
