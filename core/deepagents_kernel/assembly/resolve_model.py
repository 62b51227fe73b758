"""Turn what a user gives as a model into a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_kernel.deprecations import NO_MODEL, callers_stacklevel, warn_of
from deepagents_kernel.errors import ModelSpecError, ModelTypeError

if TYPE_CHECKING:
    from deepagents_kernel.kernel import Kernel


def resolve_model(kernel: Kernel, model: Any) -> Any:
    """A chat model from a string, or the model itself.

    Raises:
        ModelSpecError: nobody can make a model from the string.
        ModelTypeError: it is neither a string nor a chat model.
    """
    if isinstance(model, str):
        answer = kernel.calls.first("deepagents_resolve_model", {"spec": model, "kernel": kernel})
        if answer is None:
            hint = "enable a plugin that implements deepagents_resolve_model, or pass a chat model"
            raise ModelSpecError(model, "no plugin can make a model from it", hint)
        resolved = checked_model(answer.value, model, f"plugin {answer.plugin}")
        kernel.calls.observe("deepagents_model_resolved", {"spec": model, "model": resolved})
        return resolved
    return checked_model(model)


def model_or_default(kernel: Kernel, model: Any) -> Any:
    """*model*, or the string of the kernel's default model where none was given and there is one.

    The latter is deprecated, which is said each time, at the line of whoever asked for the agent.
    """
    default = kernel.table.default_model
    if model is not None or not default:
        return model
    warn_of(NO_MODEL, stacklevel=callers_stacklevel(), default=default)
    return default


def checked_model(model: Any, spec: str = "", source: str = "") -> Any:
    """The model itself, unless it is none.

    Args:
        model: what was given, or what a plugin answered.
        spec: the string that was asked about, if any.
        source: who answered.

    Raises:
        ModelTypeError: it is not a chat model.
    """
    from langchain_core.language_models import BaseChatModel

    from deepagents_kernel.models import unwrap_model

    if isinstance(unwrap_model(model), BaseChatModel):
        return model
    hint = "pass a chat model, or a string such as 'openai:gpt-5.4'"
    if source:
        raise ModelTypeError(spec, f"{source} answered with {type(model).__name__}, not a chat model")
    if model is None:
        raise ModelTypeError("", "no model was given", hint)
    raise ModelTypeError(repr(model)[:60], f"a {type(model).__name__} is not a chat model", hint)
