"""``deepagents-kernel run``: let an agent work on a task in a folder."""

from __future__ import annotations

import contextlib
import os
import time
import traceback
from typing import TYPE_CHECKING, Any

import click
from attrs import frozen

from deepagents_kernel.cli.background import in_background
from deepagents_kernel.cli.building import build_agent
from deepagents_kernel.cli.call import (
    Call,
    CommandError,
    common_options,
    json_option,
    profile_option,
    trust_option,
)
from deepagents_kernel.cli.connection import connection_failure
from deepagents_kernel.cli.events import EventReader
from deepagents_kernel.cli.report import CODES, JsonReport, Report, RunResult, Status, TextReport
from deepagents_kernel.cli.workspace import check_workspace, compare, take_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from langgraph.graph.state import CompiledStateGraph


@common_options
@trust_option
@click.command()
@click.argument("task")
@click.option("--workspace", metavar="DIR", help="The folder to work in; the agent sees it as /.")
@click.option("--model", metavar="SPEC", help="As provider:name; 'offline' needs no network and no key.")
@click.option("--base-url", metavar="URL", help="Where the model is served, for a server of your own.")
@click.option("--system-prompt", metavar="TEXT", help="Instructions that come before the agent's own.")
@profile_option
@click.option("--recursion-limit", type=click.IntRange(min=1), metavar="N", help="Most steps of the agent.")
@json_option("Write one JSON object a line.")
@click.pass_obj
def run(
    call: Call,
    *,
    task: str,
    workspace: str | None,
    model: str | None,
    base_url: str | None,
    system_prompt: str | None,
    profile: str | None,
    recursion_limit: int | None,
    as_json: bool,
) -> int:
    """Let an agent work on TASK in a folder.

    Shows what it does as it does it, then how long it took and which files it wrote.
    """
    if not model:
        raise CommandError("run needs --model SPEC, as in --model openai:NAME; --model offline needs no key")
    if not workspace:
        raise CommandError("run needs --workspace DIR, the folder to work in; --workspace . takes this one")
    if not task.strip():
        raise CommandError("the task is empty; say what the agent is to do")
    folder = check_workspace(workspace)
    if not os.access(folder, os.W_OK):
        call.output.warning(f"{workspace!r} is read-only for you: the agent can read it and write nothing")
    agent, warnings = build_agent(
        call.kernel(folder),
        model,
        base_url=base_url,
        workspace=folder,
        system_prompt=system_prompt,
        profile=profile,
    )
    for warning in warnings:
        call.output.warning(warning)
    report: Report = JsonReport(call.output) if as_json else TextReport(call.output)
    result = Run(agent, folder, report, base_url).work(task, recursion_limit, debug=call.debug)
    report.result(result)
    return CODES[result.status]


@frozen(eq=False)
class Run:
    """One run of an agent.

    Attributes:
        agent: the compiled agent.
        folder: its workspace.
        report: what shows it.
        base_url: where the user said that the model is served.
    """

    agent: CompiledStateGraph[Any, Any, Any, Any]
    folder: Path
    report: Report
    base_url: str | None = None

    def work(self, task: str, recursion_limit: int | None, *, debug: bool = False) -> RunResult:
        """Run to the end, to an error, to an approval or to Ctrl-C; never raises what the run raised."""
        started = time.monotonic()
        before = take_snapshot(self.folder)
        reader = EventReader()
        status, error = self._stream(task, recursion_limit, reader, debug=debug)
        if status == "ok" and reader.waiting:
            status, error = "approval", _approval(reader)
        return RunResult(
            status=status,
            answer=reader.answer,
            seconds=time.monotonic() - started,
            steps=reader.steps,
            tokens=reader.tokens,
            changes=compare(before, take_snapshot(self.folder)),
            waiting=tuple(reader.waiting),
            error=error,
        )

    def _stream(
        self, task: str, recursion_limit: int | None, reader: EventReader, *, debug: bool
    ) -> tuple[Status, str]:
        from langgraph.errors import GraphRecursionError

        try:
            with contextlib.closing(in_background(lambda: self._items(task, recursion_limit))) as items:
                for item in items:
                    for event in reader.read(item):
                        self.report.event(event)
        except KeyboardInterrupt:
            return "interrupted", ""
        except GraphRecursionError:
            return "limit", "the step limit was reached before the agent had finished; see --recursion-limit"
        except (Exception, SystemExit) as error:  # a tool that calls sys.exit ends its run alone
            trace = f"\n{''.join(traceback.format_exception(error))}" if debug else ""
            what = connection_failure(error, self.base_url) or f"{type(error).__name__}: {error}"
            return "failed", f"the run failed: {what}{trace}"
        return "ok", ""

    def _items(self, task: str, recursion_limit: int | None) -> Iterator[Any]:
        config: Any = {} if recursion_limit is None else {"recursion_limit": recursion_limit}
        message = {"messages": [{"role": "user", "content": task}]}
        return self.agent.stream(message, config, stream_mode=["updates", "messages"], subgraphs=True)


def _approval(reader: EventReader) -> str:
    names = ", ".join(str(call.get("name", "?")) for call in reader.waiting)
    return f"the run waits for an approval that the command can't give ({names}); resume it from Python"
