"""What a plan has to look like; a failure says what was planned instead, by whom, and why there.

Plans are compared by identity, so ``==`` says nothing about two of them: these functions do.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from deepagents_kernel.assembly.plan import AgentPlan
from deepagents_kernel.assembly.tools import stack_tools
from deepagents_kernel.errors import DeepAgentsError, PlanError, Problem, nearest_hint
from deepagents_kernel.explain.diff import diff
from deepagents_kernel.explain.document import FORMAT, digest
from deepagents_kernel.explain.reasons import why_here

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from deepagents_kernel.assembly.plan import Entry, StackPlan

#: A plan, its document as ``to_dict`` gives it, or the JSON file of one.
AnyPlan: TypeAlias = "AgentPlan | Mapping[str, Any] | Path"


def assert_stack(plan: AgentPlan, path: str, names: Sequence[str], *, exact: bool = True) -> None:
    """The middleware of a stack are these, in this order, outermost first.

    Args:
        plan: the plan.
        path: of the stack, such as ``main/general-purpose``.
        names: names of its middleware.
        exact: whether they are all; otherwise others may stand before, between and behind them.

    Raises:
        AssertionError: they are not; shows both orders side by side, and for each middleware of the plan its
            segment, who put it there, and why it stands where it does.
    """
    __tracebackhide__ = True
    expected = [names] if isinstance(names, str) else list(names)
    stack = _stack(plan, path)
    planned = [entry.name for entry in stack.entries]
    if planned == expected or (not exact and _in_order(expected, planned)):
        return
    what = "are not" if exact else "do not have in this order"
    lines = [f"the middleware of stack {path!r} {what} what was expected"]
    lines += _side_by_side(expected, stack, plan, exact=exact)
    lines += [f"  {line}" for name in expected if name not in planned for line in _absent(name, stack, plan)]
    raise AssertionError("\n".join(lines))


def assert_tools(
    plan: AgentPlan, path: str, *, has: Iterable[str] | str = (), lacks: Iterable[str] | str = ()
) -> None:
    """The model of a stack is offered some tools, and others not.

    Args:
        plan: the plan.
        path: of the stack, such as ``main``.
        has: names of tools that have to be there.
        lacks: names of tools that must not be there.

    Raises:
        AssertionError: one is missing, or there; names where each comes from.
    """
    __tracebackhide__ = True
    stack = _stack(plan, path)
    excluded = stack.context.profile.profile.excluded_tools
    every = {row.name: row.source for row in stack_tools(stack)}
    offered = {name: source for name, source in every.items() if name not in excluded}
    owners = {entry.name: _by(entry) for entry in stack.entries}
    problems = []
    for name in _texts(has):
        if name not in offered:
            why = "the profile excludes it" if name in every else ""
            problems.append(f"no tool {name!r}{_clause(why or nearest_hint(name, offered))}")
    for name in _texts(lacks):
        if name in offered:
            source = offered[name]
            problems.append(f"there is a tool {name!r}, from {owners.get(source, source)}")
    if problems:
        lines = [f"stack {path!r}: {problem}" for problem in problems]
        raise AssertionError("\n".join([*lines, f"  its tools: {', '.join(offered) or 'none'}"]))


def assert_same_plan(actual: AnyPlan, expected: AnyPlan) -> None:
    """Two plans are made of the same parts; versions of distributions may differ.

    Args:
        actual: a plan, a plan document, or the file of one.
        expected: the same.

    Raises:
        AssertionError: they are not; shows what changed from *expected* to *actual*.
    """
    __tracebackhide__ = True
    lines = plan_difference(expected, actual)
    if lines:
        raise AssertionError("\n".join(["the plans differ; from expected to actual:", *_indented(lines)]))


def assert_problem(refused: Callable[[], Any] | BaseException, text: str) -> Problem:
    """A plan is refused, and one of its problems says something.

    Args:
        refused: what has to be refused, as a function without arguments; or the error that came of it.
        text: a part of the problem: of its text, its place, or its hint.

    Returns:
        The problem. An error of another kind than ``PlanError``, such as a bad setting, counts as one; it
        is its ``cause``.

    Raises:
        AssertionError: nothing was refused, or no problem says that; names those that were found.
    """
    __tracebackhide__ = True
    found = _problems(refused if isinstance(refused, BaseException) else _refusal(refused, text))
    for problem in found:
        if text in problem.describe():
            return problem
    lines = [f"no problem says {text!r}; found:"]
    lines += [f"  {number}. {problem.describe()}" for number, problem in enumerate(found, 1)]
    raise AssertionError("\n".join(lines))


def plan_difference(a: AnyPlan, b: AnyPlan) -> list[str]:
    """What changed from plan *a* to plan *b*, in words; empty if they are made of the same parts."""
    __tracebackhide__ = True
    old, new = _document(a), _document(b)
    if digest(old) == digest(new):
        return []
    return diff(old, new)


def _document(plan: AnyPlan) -> Mapping[str, Any]:
    __tracebackhide__ = True
    if isinstance(plan, AgentPlan):
        return plan.to_dict()
    document = json.loads(plan.read_text(encoding="utf-8")) if isinstance(plan, Path) else plan
    found = document.get("format") if isinstance(document, Mapping) else None
    if found != FORMAT:
        what = str(plan) if isinstance(plan, Path) else f"a {type(plan).__name__}"
        msg = f"{what} is no plan document that can be compared: its format is {found!r}, not {FORMAT}"
        raise AssertionError(msg)
    return document


def _stack(plan: AgentPlan, path: str) -> StackPlan:
    __tracebackhide__ = True
    stacks = {stack.path: stack for stack in plan.stacks()}
    if path not in stacks:
        hint = nearest_hint(path, stacks)
        msg = f"the plan has no stack {path!r}{_clause(hint)}\n  its stacks: {', '.join(stacks)}"
        raise AssertionError(msg)
    return stacks[path]


def _in_order(expected: Sequence[str], planned: Sequence[str]) -> bool:
    rest = iter(planned)
    return all(name in rest for name in expected)


def _side_by_side(
    expected: Sequence[str], stack: StackPlan, plan: AgentPlan, *, exact: bool
) -> Iterator[str]:
    entries = stack.entries
    rows = [("", "expected", "planned", "")]
    planned = [entry.name for entry in entries]
    for name, place in _aligned(expected, planned):
        if place is None:
            rows.append(("-", name, "", ""))
            continue
        entry = entries[place]
        where = f"{entry.segment.name.lower()}, {_by(entry)}: {why_here(entry, stack, plan.plugins)}"
        rows.append((" " if name or not exact else "+", name, entry.name, where))
    wide = [max(len(row[column]) for row in rows) for column in (1, 2)]
    for mark, left, right, where in rows:
        yield f"  {mark:1} {left:{wide[0]}}  {right:{wide[1]}}  {where}".rstrip()


def _aligned(expected: Sequence[str], planned: Sequence[str]) -> Iterator[tuple[str, int | None]]:
    """Rows of two columns: an expected name or nothing, and a place in the plan or nothing."""
    matcher = difflib.SequenceMatcher(None, expected, planned, autojunk=False)
    for kind, left, left_end, right, right_end in matcher.get_opcodes():
        if kind == "equal":
            yield from zip(expected[left:left_end], range(right, right_end), strict=True)
        else:
            yield from ((name, None) for name in expected[left:left_end])
            yield from (("", place) for place in range(right, right_end))


def _absent(name: str, stack: StackPlan, plan: AgentPlan) -> Iterator[str]:
    """Why an expected middleware is not in the stack, as far as the plan knows."""
    for row in stack.dropped:
        if row.name == name:
            yield f"{name} was left out: {row.reason}"
            return
    elsewhere = [other.path for other in plan.stacks() if name in [entry.name for entry in other.entries]]
    if elsewhere:
        yield f"{name} is in {', '.join(elsewhere)}"
    else:
        known = [entry.name for other in plan.stacks() for entry in other.entries]
        yield f"{name} is in no stack{_clause(nearest_hint(name, known))}"


def _by(entry: Entry) -> str:
    return entry.source or (f"plugin {entry.plugin}" if entry.plugin else entry.origin)


def _refusal(attempt: Callable[[], Any], text: str) -> DeepAgentsError:
    __tracebackhide__ = True
    try:
        attempt()
    except DeepAgentsError as error:
        return error
    msg = f"nothing was refused; expected a problem that says {text!r}"
    raise AssertionError(msg)


def _problems(error: BaseException) -> tuple[Problem, ...]:
    if isinstance(error, PlanError):
        return error.problems
    return (Problem(str(error), plugin=getattr(error, "plugin", ""), cause=error),)


def _clause(text: str) -> str:
    return f"; {text}" if text else ""


def _texts(value: Iterable[str] | str) -> list[str]:
    return [value] if isinstance(value, str) else list(value)


def _indented(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]
