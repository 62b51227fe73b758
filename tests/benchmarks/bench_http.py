"""Turns over a real socket: what is sent, and what it costs to make it.

A fake model binds tools for free; a real client converts every schema for every request. The bare agent has
tools with the very names, descriptions and schemas of ours, which do nothing.
"""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent.parent / "support"))

import agents
from measure import BASE, OURS, Row, Run, alternate, ratio_row
from openai_server import OpenAIServer, Request

GROUP = "http"
TURNS = 50
LIMIT = 1.35
ROUNDS = 9


def rows(rounds: int = ROUNDS) -> Iterator[Row]:
    """Measure; a row with the bytes of a first request, one with the cost of a turn."""
    from langchain_core.tools import StructuredTool

    from deepagents_kernel.assembly.tools import stack_tools

    same = [
        StructuredTool(
            name=row.name,
            description=row.description,
            args_schema=row.tool.args_schema,
            func=lambda **_: "Updated file",
        )
        for row in stack_tools(agents.main_stack(agents.Writer()))
    ]
    sides: dict[str, Callable[[Any], Any]] = {BASE: lambda model: agents.bare(model, same), OURS: agents.ours}
    if agents.HAS_DEEPAGENTS:
        sides["deepagents"] = agents.deepagents
    sizes = {side: _request_bytes(create) for side, create in sides.items()}
    case = f"request bytes, {len(same)} tools of ours"
    yield Row(GROUP, case, sizes[OURS] / sizes[BASE], detail=sizes)
    with _server_process() as url:
        samples = alternate({side: _per_turn(create, url) for side, create in sides.items()}, rounds)
    yield ratio_row(GROUP, f"{TURNS} turns, ms a turn", samples, LIMIT)


def _request_bytes(create: Callable[[Any], Any]) -> int:
    with OpenAIServer(["done"]) as server:
        create(_model(server.base_url)).invoke({"messages": [("user", "go")]})
        return len(server.requests[0].body)


def _per_turn(create: Callable[[Any], Any], url: str) -> Run:
    agent = create(_model(url)).with_config({"recursion_limit": agents.RECURSION_LIMIT})

    def run() -> float:
        gc.collect()
        start = time.process_time()
        result = agent.invoke({"messages": [("user", "go")]})
        took = time.process_time() - start
        assert len(result["messages"]) == 2 * TURNS + 2, "another run than planned"
        return took / TURNS

    return run


def _model(url: str) -> Any:
    from langchain_openai import ChatOpenAI

    return ChatOpenAI(model="gpt-4.1", base_url=url, api_key="x", use_responses_api=False)


@contextlib.contextmanager
def _server_process() -> Iterator[str]:
    """A server in a process of its own, whose time is not counted."""
    with subprocess.Popen([sys.executable, __file__], stdout=subprocess.PIPE, encoding="utf-8") as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()


def _answer(request: Request) -> Any:
    # By what was asked, so that one server can serve any number of runs.
    done = request.roles.count("assistant")
    arguments = {"file_path": f"/file{done}.txt", "content": agents.CONTENT}
    return "done" if done >= TURNS else [("write_file", arguments)]


def _serve() -> None:
    with OpenAIServer([_answer], repeat_last=True, record=False) as server:
        sys.stdout.write(f"{server.base_url}\n")
        sys.stdout.flush()
        while os.getppid() != 1:
            time.sleep(1)


if __name__ == "__main__":
    _serve()
