"""``deepagents-kernel plan``: show, store and compare what an agent is made of."""

from __future__ import annotations

import json
import shlex
from pathlib import Path
from typing import Any

import click

from deepagents_kernel.cli.building import plan_agent
from deepagents_kernel.cli.call import (
    Call,
    CommandError,
    common_options,
    json_option,
    profile_option,
    trust_option,
)
from deepagents_kernel.cli.codes import ExitCode
from deepagents_kernel.cli.workspace import check_workspace

_CREATE = "create one with: deepagents-kernel plan --json > {path}"
# What is there may be anything, a source file or a plan of another version: never advise to write over it.
_NO_PLAN = "it is not a plan that this version reads, and is left as it is"


@common_options
@trust_option
@click.command()
@click.option(
    "--model", metavar="SPEC", default="offline", show_default=True, help="The model, as provider:name."
)
@click.option("--workspace", metavar="DIR", help="The folder that the agent would work in.")
@profile_option
@json_option("Write the plan as JSON; store it for --check.")
@click.option("--check", metavar="FILE", help="Compare with a stored plan; exit code 1 if it differs.")
@click.option("--diff", "pair", metavar="A B", nargs=2, help="Compare two stored plans.")
@click.option(
    "--tokens/--no-tokens", default=True, show_default=True, help="Count what prompt and tools cost."
)
@click.pass_obj
def plan(
    call: Call,
    *,
    model: str,
    workspace: str | None,
    profile: str | None,
    as_json: bool,
    check: str | None,
    pair: tuple[str, str] | None,
    tokens: bool,
) -> int:
    """Show what an agent would be made of, and why.

    Nothing is run and no model is asked.
    """
    if sum((as_json, check is not None, pair is not None)) > 1:
        raise CommandError("--json, --check and --diff exclude each other; choose one")
    if pair is not None:
        return _compare(call, _stored(pair[0]), _stored(pair[1]))
    stored = None if check is None else _stored(check)
    folder = None if workspace is None else check_workspace(workspace)
    planned = plan_agent(call.kernel(folder), model, workspace=folder, profile=profile)
    if stored is not None:
        return _compare(call, stored, planned.to_dict())
    if as_json:
        call.output.json(planned.to_dict(tokens=tokens), indent=2)
    else:
        call.output.line(planned.render(tokens=tokens))
    return ExitCode.OK


def _stored(text: str) -> dict[str, Any]:
    """A plan document from a file.

    Raises:
        CommandError: there is none, or it is not one that this version reads.
    """
    from deepagents_kernel.explain.document import FORMAT, digest

    try:
        document: Any = json.loads(Path(text).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise CommandError(f"no plan {text!r}; {_CREATE.format(path=shlex.quote(text))}") from None
    except OSError as error:
        raise CommandError(f"{text!r} can't be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{text!r}: {_NO_PLAN} ({error})") from error
    made_by = document.get("format") if isinstance(document, dict) else None
    if made_by != FORMAT:
        found = "it names no format" if made_by is None else f"its format is {made_by!r:.40}"
        raise CommandError(f"{text!r}: {_NO_PLAN} ({found}; plans have format {FORMAT})")
    try:
        # The digest reads every part that a comparison needs.
        document["fingerprint"] = digest(document)
    except (KeyError, TypeError, AttributeError) as error:
        raise CommandError(f"{text!r}: {_NO_PLAN} (damaged: {error!r})") from error
    return dict(document)


def _compare(call: Call, a: dict[str, Any], b: dict[str, Any]) -> int:
    from deepagents_kernel.explain.diff import diff

    for line in diff(a, b):
        call.output.line(line)
    if a["fingerprint"] == b["fingerprint"]:
        call.output.line(f"unchanged: {b['fingerprint']}")
        return ExitCode.OK
    call.output.line(f"changed: {a['fingerprint']} -> {b['fingerprint']}")
    return ExitCode.FAILED
