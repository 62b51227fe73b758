"""docs/plugins.md and docs/planning.md show what the code has: fields, and the order of the built-ins."""

import attrs
import pytest
from pages import code, read, rows, section

from deepagents_kernel import (
    BackendSpec,
    HarnessProfile,
    Kernel,
    MiddlewareSpec,
    PluginInfo,
    Segment,
    make_request,
)
from deepagents_kernel._builtin import load_table
from deepagents_kernel.testing import ScriptedChatModel


@pytest.mark.parametrize(
    ("cls", "heading"),
    [(PluginInfo, "## A first plugin"), (MiddlewareSpec, "## Slots"), (BackendSpec, "## Backends")],
)
def test_every_field_is_explained(cls, heading):
    table = rows(section(read("docs/plugins.md"), heading))
    assert [code(row[0]) for row in table] == [field.name for field in attrs.fields(cls)]
    assert all(row[1].endswith(".") for row in table)


def test_the_features_are_those_of_the_table():
    (row,) = [row for row in rows(read("docs/plugins.md")) if code(row[0]) == "serves"]
    listed = {word.strip("`") for word in row[1].partition("(")[2].partition(")")[0].split(", ")}
    assert listed == set(load_table().features)


def test_segments_are_listed_in_order():
    table = rows(section(read("docs/planning.md"), "## Order"))
    assert [code(row[0]) for row in table[: len(Segment)]] == [segment.name.lower() for segment in Segment]


def test_the_order_of_the_built_ins():
    table = rows(section(read("docs/planning.md"), "## Order"))[len(Segment) :]
    kernel = Kernel()
    plan = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            profile=HarnessProfile(excluded_tools={"grep"}),
            interrupt_on={"ls": True},
            subagents=[{"name": "d", "description": "d"}],
        )
    )
    # The profile given for one agent does not reach a declared child, and a registered one would.
    kernel.profiles.register_harness("scripted", HarnessProfile(excluded_tools={"grep"}))
    registered = kernel.plan(
        make_request(
            ScriptedChatModel(["done"]),
            interrupt_on={"ls": True},
            subagents=[{"name": "d", "description": "d"}],
        )
    )
    assert plan.stack("main/d").entries[-1].segment is not Segment.GUARD
    stacks = [registered.stack(path) for path in ("main", "main/general-purpose", "main/d")]
    for column, stack in enumerate(stacks, 2):
        found = [(entry.name, entry.segment.name.lower()) for entry in stack.entries]
        shown = [(code(row[0]), row[1]) for row in table if row[column] == "x"]
        optional = {code(row[0]) for row in table if "installed" in row[5]}
        assert [item for item in shown if item in found or item[0] not in optional] == found
