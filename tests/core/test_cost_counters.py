"""What making and running an agent costs, in things that can be counted.

The benchmarks measure time; these counters hold what the times depend on, and are the same on any machine.
"""

from __future__ import annotations

import contextlib
import itertools
import json
import subprocess
import sys
import threading
from collections import Counter
from types import SimpleNamespace

import langchain.agents
import pytest
import tiny
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool, tool
from pydantic import BaseModel

from deepagents_kernel import Kernel, MiddlewareSpec, Segment, create_deep_agent, get_kernel, make_request
from deepagents_kernel.testing import ScriptedChatModel

OURS = ("deepagents_kernel", "deepagents_builtin")
WRITE = [("write_file", {"file_path": "/a.txt", "content": "x" * 500})]


def helpers(count):
    return [{"name": f"helper{n}", "description": "Helps.", "system_prompt": "Help."} for n in range(count)]


def idle_model():
    return ScriptedChatModel(["done"], repeat_last=True, record=False)


class TestGraphs:
    @pytest.fixture
    def compiled(self, monkeypatch):
        names = Counter()
        real = create_agent

        def counting(*args, **keywords):
            names[keywords.get("name")] += 1
            return real(*args, **keywords)

        monkeypatch.setattr(langchain.agents, "create_agent", counting)
        return names

    def test_making_an_agent_compiles_one_graph(self, compiled):
        create_deep_agent(idle_model(), subagents=helpers(5))
        assert compiled == {None: 1}

    def test_a_child_is_compiled_once_when_it_is_first_used(self, compiled):
        ask = ("task", {"description": "go", "subagent_type": "helper1"})
        model = ScriptedChatModel([[ask], "child", [ask, ask], "child", "child", "done"])
        create_deep_agent(model, subagents=helpers(3)).invoke({"messages": "go"})
        assert model.turns_left == 0
        assert compiled == {None: 1, "helper1": 1}

    def test_eager_compiles_every_child_once(self, compiled):
        create_deep_agent(idle_model(), subagents=helpers(2), eager=True)
        assert compiled == {None: 1, "general-purpose": 1, "helper0": 1, "helper1": 1}


@contextlib.contextmanager
def counted_schemas(monkeypatch):
    """Counts classes of pydantic models, and tools whose schema is inferred from a function."""
    made = Counter()
    metaclass = type(BaseModel)
    new, inferred = metaclass.__new__, StructuredTool.from_function.__func__

    def counting_new(cls, name, *args, **keywords):
        made[name] += 1
        return new(cls, name, *args, **keywords)

    def counting_from_function(cls, *args, **keywords):
        made["from_function"] += 1
        return inferred(cls, *args, **keywords)

    with monkeypatch.context() as patch:
        patch.setattr(metaclass, "__new__", counting_new)
        patch.setattr(StructuredTool, "from_function", classmethod(counting_from_function))
        yield made


class TestSchemas:
    def test_a_second_agent_builds_no_argument_schema(self, monkeypatch):
        create_deep_agent(idle_model(), subagents=helpers(1)).invoke({"messages": "go"})
        with counted_schemas(monkeypatch) as made:
            create_deep_agent(idle_model(), subagents=helpers(3), eager=True).invoke({"messages": "go"})
        assert made == {}

    def test_the_counter_counts(self, monkeypatch):
        def search(query: str) -> str:
            """Search."""
            return query

        with counted_schemas(monkeypatch) as made:
            tool(search)
        assert made["from_function"] == 1
        assert made["search"] == 1

    def test_a_function_becomes_a_tool_once_for_all_stacks(self, monkeypatch):
        def search(query: str) -> str:
            """Search."""
            return query

        with counted_schemas(monkeypatch) as made:
            create_deep_agent(idle_model(), [search], subagents=helpers(4), eager=True)
        assert made["search"] == 1


class TestHooks:
    @staticmethod
    def calls_of(plugins, subagents=0):
        """How often each plugin is asked for middleware, tools and prompt parts in one planning."""
        calls = Counter()

        def plugin(name):
            def deepagents_middleware(context):
                calls[name, "middleware"] += 1

            def deepagents_tools(context):
                calls[name, "tools"] += 1

            def deepagents_system_prompt(context):
                calls[name, "prompt"] += 1

            return tiny.plugin(
                deepagents_middleware=deepagents_middleware,
                deepagents_tools=deepagents_tools,
                deepagents_system_prompt=deepagents_system_prompt,
            )

        kernel = Kernel({f"middleware.extra{n}": plugin(n) for n in range(plugins)})
        kernel.plan(make_request(idle_model(), subagents=helpers(subagents)))
        return calls

    def test_each_plugin_is_asked_once_a_stack(self):
        assert set(self.calls_of(3).values()) == {2}  # main and general-purpose
        assert set(self.calls_of(3, subagents=10).values()) == {12}

    def test_calls_are_linear_in_plugins(self):
        assert [self.calls_of(n).total() for n in (10, 20, 40)] == [60, 120, 240]


@contextlib.contextmanager
def profiled(note):
    """Reports every Python call of this thread and of those it starts, as the code object that is called."""

    def profile(frame, event, _argument):
        if event == "call":
            note(frame.f_code)

    # Put on by hand: what is measured begins and ends in the middle of a run.
    sys.setprofile(profile)
    threading.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def calls_while(action):
    """How many Python calls an action makes."""
    counter = itertools.count()
    with profiled(lambda _code: next(counter)):
        action()
    return next(counter)


class TestPlanning:
    @staticmethod
    def calls_with(count):
        def plugin(number):
            cls = tiny.middleware_class(f"Extra{number}")
            spec = MiddlewareSpec(cls.__name__, cls, lambda _: cls(), segment=Segment.USER)
            return tiny.slots(spec, kinds="main")

        kernel = Kernel({f"middleware.extra{number}": plugin(number) for number in range(count)})
        request = make_request(idle_model())
        kernel.plan(request)
        return calls_while(lambda: kernel.plan(request))

    def test_the_cost_of_an_entry_does_not_depend_on_their_number(self):
        none, few, many = (self.calls_with(count) for count in (0, 20, 100))
        assert (many - few) / 80 == pytest.approx((few - none) / 20, rel=0.02)

    def test_the_cost_of_a_subagent_does_not_depend_on_their_number(self):
        def calls(count):
            request = make_request(idle_model(), subagents=helpers(count))
            get_kernel().plan(request)
            return calls_while(lambda: get_kernel().plan(request))

        # The first one is built, the others are like it.
        one, few, many = (calls(count) for count in (1, 10, 50))
        assert (many - few) / 40 == pytest.approx((few - one) / 9, rel=0.02)
        assert (few - one) / 9 < one / 2


class Watched:
    """A model that writes files for a number of turns, and counts the Python calls of some of them."""

    def __init__(self, turns, watch):
        self.total = Counter()
        self.ours = Counter()
        self._turns, self._watch, self._made = turns, watch, 0
        self._open = None
        self.model = ScriptedChatModel([self._turn], repeat_last=True, record=False)

    def _turn(self, _messages, _tools):
        # A turn lasts from one answer of the model to the next.
        if self._open is not None:
            self._open.__exit__(None, None, None)
            self._open = None
        self._made += 1
        if self._made in self._watch:
            self._open = profiled(self._note)
            self._open.__enter__()
        return WRITE if self._made <= self._turns else "done"

    def _note(self, code):
        self.total[self._made] += 1
        if any(name in code.co_filename for name in OURS):
            self.ours[self._made] += 1


@tool
def write_file(file_path: str, content: str) -> str:
    """Write a file."""
    return f"Updated file {file_path}"


EARLY, LATE = 50, 500


@pytest.fixture(scope="module")
def counts():
    """A long run of our agent and one of a bare agent, with the calls of an early and of a late turn."""

    def run(create):
        watched = Watched(LATE + 1, {EARLY, LATE})
        create(watched.model).invoke({"messages": "go"}, {"recursion_limit": 10_000})
        return watched

    return SimpleNamespace(
        ours=run(create_deep_agent), bare=run(lambda model: create_agent(model, tools=[write_file]))
    )


class TestTurns:
    def test_a_late_turn_has_no_more_calls_in_excess_of_a_bare_agents(self, counts):
        def excess(turn):
            return counts.ours.total[turn] - counts.bare.total[turn]

        assert counts.ours.total[EARLY] > 500
        assert excess(LATE) <= excess(EARLY) + 20

    def test_calls_into_our_code_do_not_grow(self, counts):
        assert counts.ours.ours[EARLY] > 10
        assert counts.ours.ours[LATE] == pytest.approx(counts.ours.ours[EARLY], abs=5)


class TouchedMessage(HumanMessage):
    """Counts which of our code looks at it."""

    def __getattribute__(self, name):
        caller = sys._getframe(1).f_code
        if any(package in caller.co_filename for package in OURS):
            _touches.append((caller.co_qualname, name))
        return super().__getattribute__(name)


_touches: list[tuple[str, str]] = []


class TestMessages:
    @staticmethod
    def touches_a_turn(length):
        """How often our code looks at old messages in each turn but the first of a run."""
        seen = []

        def turn(_messages, _tools):
            seen.append(Counter(_touches))
            _touches.clear()
            return WRITE if len(seen) < 5 else "done"

        agent = create_deep_agent(ScriptedChatModel([turn], repeat_last=True, record=False))
        agent.invoke({"messages": [TouchedMessage("x", id=str(number)) for number in range(length)]})
        # What stands before the first answer is a run's start, which may look at everything once.
        return seen[1:]

    def test_old_messages_are_left_alone(self):
        assert self.touches_a_turn(20) == [Counter()] * 4
        assert self.touches_a_turn(200) == [Counter()] * 4


class TestImports:
    HEAVY = ("langchain", "langchain_core", "langgraph", "langsmith", "pydantic")

    @staticmethod
    def loaded(code, packages):
        script = f"{code}\nimport json, sys; sys.stderr.write(json.dumps(sorted(sys.modules)))"
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True
        )
        return [name for name in packages if name in json.loads(done.stderr)]

    def test_importing_the_package_loads_nothing_heavy(self):
        code = "import deepagents_kernel, deepagents_builtin; dir(deepagents_kernel)"
        assert self.loaded(code, (*self.HEAVY, "click", "rich", "pluggy")) == []

    def test_asking_for_the_version_loads_nothing_heavy(self):
        code = (
            "import sys; sys.argv = ['deepagents-kernel', '--version']\n"
            "from deepagents_kernel.cli.entry import main\n"
            "try: main()\nexcept SystemExit: pass"
        )
        assert self.loaded(code, (*self.HEAVY, "click", "rich", "cattrs", "pluggy", "structlog")) == []
