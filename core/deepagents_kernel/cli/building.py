"""From the options of a command to a plan, or to an agent that is ready to run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

from deepagents_kernel.cli.call import CommandError
from deepagents_kernel.errors import DeepAgentsError, ModelSpecError, ProfileError, error_text, nearest_hint

if TYPE_CHECKING:
    from pathlib import Path

    from langgraph.graph.state import CompiledStateGraph

    from deepagents_kernel.assembly.plan import AgentPlan
    from deepagents_kernel.kernel import Kernel


def plan_agent(
    kernel: Kernel, model: str, *, workspace: Path | None, profile: str | None = None
) -> AgentPlan:
    """The plan of the agent that a model and a workspace make.

    Args:
        kernel: makes it.
        model: the model, as ``provider:name``.
        workspace: the folder to work in, if any.
        profile: file of a harness profile for this agent, if any.

    Raises:
        DeepAgentsError: the plan can't be made.
    """
    return _plan(kernel, model, workspace, profile=profile)


def build_agent(
    kernel: Kernel,
    model: str,
    *,
    base_url: str | None,
    workspace: Path,
    system_prompt: str | None,
    profile: str | None = None,
) -> tuple[CompiledStateGraph[Any, Any, Any, Any], tuple[str, ...]]:
    """An agent, and what its plan warns about.

    Args:
        kernel: makes it. With *base_url* it gets a profile for the model, so it has to be one's own.
        model: the model, as ``provider:name``.
        base_url: where the model is served; ``None`` for where its provider serves it.
        workspace: the folder to work in.
        system_prompt: instructions that come before the agent's own.
        profile: file of a harness profile for this agent, if any.

    Raises:
        DeepAgentsError: it can't be built.
    """
    further: dict[str, Any] = {"system_prompt": system_prompt, "profile": profile}
    if base_url is None:
        plan = _plan(kernel, model, workspace, **further)
    else:
        plan = _served_at(kernel, base_url, model, workspace, **further)
    return kernel.compile(plan), tuple(problem.describe() for problem in plan.warnings)


def _served_at(kernel: Kernel, base_url: str, model: str, workspace: Path, **further: Any) -> AgentPlan:
    """A plan in which the model is served elsewhere.

    Raises:
        CommandError: nobody asked for the address while the model was made.
    """
    from deepagents_kernel.profiles.provider import ProviderProfile

    asked = False

    def address() -> dict[str, str]:
        nonlocal asked
        asked = True
        return {"base_url": base_url}

    # A malformed string can't be a key; whoever resolves it says what is wrong with it.
    with contextlib.suppress(ProfileError):
        kernel.profiles.register_provider(model, ProviderProfile(init_kwargs_factory=address))
    plan = _plan(kernel, model, workspace, **further)
    if not asked:
        msg = f"model {model!r} takes no address, so --base-url means nothing for it; leave it out"
        raise CommandError(msg)
    return plan


def _plan(kernel: Kernel, model: str, workspace: Path | None, **further: Any) -> AgentPlan:
    from deepagents_kernel.assembly.request import make_request
    from deepagents_kernel.contracts.backend_spec import quote_path

    backend = None if workspace is None else f"filesystem:{quote_path(str(workspace))}"
    try:
        return kernel.plan(make_request(model=model, backend=backend, **further))
    except ModelSpecError as error:
        raise CommandError(_with_notes(_with_near_model(error, kernel), error)) from error
    except DeepAgentsError as error:
        if isinstance(error, ProfileError) and hasattr(error, "__notes__"):
            raise CommandError(_with_notes(str(error), error)) from error
        raise
    except Exception as error:
        # A provider's own complaint while its model is built: no key, an unknown argument.
        msg = f"model {model!r} can't be built: {error_text(error)}"
        raise CommandError(_with_notes(msg, error)) from error


def _with_notes(text: str, error: Exception) -> str:
    """A text with the notes of an error: they name the layer of profiles whose check or factory it was."""
    lines = [text]
    raised: BaseException | None = error
    while raised is not None:
        lines += map(str, getattr(raised, "__notes__", ()))
        raised = raised.__cause__
    return "\n  ".join(dict.fromkeys(lines))


def _with_near_model(error: ModelSpecError, kernel: Kernel) -> str:
    """The error's text; a word without a provider may be a misspelt model that a plugin is named after."""
    names = [record.name.partition(".")[2] for record in kernel.plugins if record.name.startswith("model.")]
    hint = "" if ":" in error.spec else nearest_hint(error.spec, names)
    return f"{error}\n  {hint}" if hint else str(error)
