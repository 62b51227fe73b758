"""The difference between two plan documents, in words."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.explain.diff import diff
from deepagents_kernel.explain.document import digest


def entry(name, segment="core", **fields):
    return {
        "segment": segment,
        "name": name,
        "slot": name,
        "class": f"lib.{name}",
        "plugin": f"middleware.{name.lower()}",
        "distribution": "lib",
        "version": "1.0",
        "origin": "plugin",
        "source": "",
        **fields,
    }


def tool(name, source="caller", **fields):
    parameters = {"properties": {"path": {"type": "string"}}}
    return {"name": name, "source": source, "description": "d", "parameters": parameters, **fields}


def stack(path="main", **fields):
    return {
        "path": path,
        "kind": path.rpartition("/")[2],
        "model": {"class": "lib.Model", "provider": "p", "identifier": "m", "spec": ""},
        "profile": {"key": "", "layers": []},
        "backend": "lib.Backend",
        "prompt": "one\ntwo\nthree",
        "state_schema": "lib.State",
        "response_format": None,
        "skills": None,
        "memory": None,
        "permissions": None,
        "interrupt_on": None,
        "excluded_tools": [],
        "entries": [entry("A"), entry("B"), entry("C", "tail")],
        "tools": [tool("ls", "A"), tool("ask")],
        "children": [],
        **fields,
    }


def document(version="0.1.0", **fields):
    return {"format": 1, "fingerprint": "", "kernel": version, "warnings": [], "main": stack(**fields)}


CHANGES = {
    "entry added": (
        {"entries": [entry("A"), entry("B"), entry("C", "tail"), entry("D", "tail")]},
        "main: + D (tail, middleware.d)",
    ),
    "entry removed": ({"entries": [entry("A"), entry("C", "tail")]}, "main: - B (core, middleware.b)"),
    "entry replaced": (
        {"entries": [entry("A"), entry("B", **{"class": "mine.B"}), entry("C", "tail")]},
        "main: ~ B: replaced, lib.B -> mine.B",
    ),
    "entry in another segment": (
        {"entries": [entry("A"), entry("B"), entry("C", "user")]},
        "main: ~ C: segment tail -> user",
    ),
    "entry of another plugin": (
        {"entries": [entry("A"), entry("B", plugin="middleware.x"), entry("C", "tail")]},
        "main: ~ B: plugin middleware.b -> middleware.x",
    ),
    "entry moved": (
        {"entries": [entry("B"), entry("A"), entry("C", "tail")]},
        "main: > B moved to the front",
    ),
    "tool added": ({"tools": [tool("ls", "A"), tool("ask"), tool("rm", "B")]}, "main: + tool rm (from B)"),
    "tool removed": ({"tools": [tool("ls", "A")]}, "main: - tool ask (from caller)"),
    "tool description": (
        {"tools": [tool("ls", "A", description="e"), tool("ask")]},
        "main: ~ tool ls: description changed",
    ),
    "tool arguments": (
        {"tools": [tool("ls", "A", parameters={"properties": {"depth": {}}}), tool("ask")]},
        "main: ~ tool ls: arguments changed (-path, +depth)",
    ),
    "tool source": ({"tools": [tool("ls", "B"), tool("ask")]}, "main: ~ tool ls: from A -> B"),
    "prompt": ({"prompt": "one\n2\nthree"}, "main: prompt changed (13 -> 11 characters)"),
    "profile": ({"profile": {"key": "openai:gpt", "layers": []}}, "main: profile none -> openai:gpt"),
    "backend": ({"backend": "lib.Other"}, "main: backend lib.Backend -> lib.Other"),
    "permissions": ({"permissions": []}, "main: permissions not set -> []"),
    "excluded tools": ({"excluded_tools": ["ls"]}, "main: excluded_tools [] -> ['ls']"),
    "child": ({"children": [stack("main/kid")]}, "main/kid: stack added (kid, 3 entries)"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_each_change_is_named_and_changes_the_fingerprint(change):
    fields, line = CHANGES[change]
    old, new = document(), document(**fields)
    assert line in diff(old, new)
    assert digest(old) != digest(new)


def test_equal_plans_have_no_difference():
    assert diff(document(), copy.deepcopy(document())) == []


def test_the_changed_lines_of_a_prompt_are_shown_and_bounded():
    lines = diff(document(), document(prompt="one\n2\x1b[0m\nthree"))
    assert lines[1:] == ["main:   -two", "main:   +2 [0m"]
    long = diff(document(prompt=""), document(prompt="\n".join(map(str, range(50)))))
    assert len(long) == 14
    assert long[-1] == "main:   ... and 38 more changed lines"


def test_a_removed_stack_is_named():
    assert diff(document(children=[stack("main/kid")]), document()) == ["main/kid: stack removed"]


def test_changes_below_the_main_stack_are_found():
    a = document(children=[stack("main/kid")])
    b = document(
        children=[
            stack("main/kid", model={"class": "lib.Model", "provider": "p", "identifier": "n", "spec": ""})
        ]
    )
    assert diff(a, b) == ["main/kid: model identifier m -> n"]


def test_versions_are_shown_apart_and_leave_the_fingerprint():
    entries = [entry("A", version="2.0"), entry("B"), entry("C", "tail")]
    old, new = document(), document("0.2.0", entries=entries)
    assert diff(old, new) == [
        "same stack: deepagents-kernel 0.1.0 -> 0.2.0",
        "same stack: middleware.a (lib) 1.0 -> 2.0",
    ]
    assert digest(old) == digest(new)


@given(st.permutations("ABCDEF"))
def test_only_what_moved_is_called_moved(order):
    old = document(entries=[entry(name) for name in "ABCDEF"])
    new = document(entries=[entry(name) for name in order])
    moved = [line.split()[2] for line in diff(old, new)]
    # Without the moved ones, both are in the same order; whoever moved is named once.
    assert [name for name in order if name not in moved] == [name for name in "ABCDEF" if name not in moved]
    assert len(set(moved)) == len(moved) < 6


def test_one_entry_that_moves_far_is_one_line():
    old = document(entries=[entry(name) for name in "ABCDE"])
    new = document(entries=[entry(name) for name in "BCDEA"])
    assert diff(old, new) == ["main: > A moved behind E"]
