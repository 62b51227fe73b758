"""Change what a model answered, in whichever form the answer travels through middleware."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage

if TYPE_CHECKING:
    from collections.abc import Callable


def map_ai_messages(response: Any, change: Callable[[AIMessage], AIMessage]) -> Any:
    """A model's response with each of its messages changed.

    Args:
        response: what the handler of ``wrap_model_call`` gave: a message, or a response in either form.
        change: gets a message of the model, and gives the same one or another.

    Returns:
        The very same response if nothing was changed.
    """
    if isinstance(response, AIMessage):
        return change(response)
    if isinstance(response, ExtendedModelResponse):
        inner = map_ai_messages(response.model_response, change)
        return response if inner is response.model_response else replace(response, model_response=inner)
    if not isinstance(response, ModelResponse):
        return response
    result = [change(item) if isinstance(item, AIMessage) else item for item in response.result]
    unchanged = all(new is old for new, old in zip(result, response.result, strict=True))
    return response if unchanged else replace(response, result=result)
