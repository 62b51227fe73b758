"""The model hooks of a sub-agent middleware with a system prompt.

They are mixed in only where there is one: the host wraps every model call in each middleware whose class has
such a hook, whether or not it does anything.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse

from deepagents_kernel.contracts.system_message import append_to_system_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable


class PromptHooks(AgentMiddleware[Any, Any, Any]):
    """Appends ``prompt_block`` to the system message."""

    prompt_block: str

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Add the block and go on."""
        return handler(self._extended(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Add the block and go on."""
        return await handler(self._extended(request))

    def _extended(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        message = append_to_system_message(request.system_message, self.prompt_block)
        return request.override(system_message=message)


@cache
def with_prompt_hooks(cls: type[Any]) -> type[Any]:
    """The class with the hooks behind its own, so that a subclass's overrides still win; same name."""
    facts = {"__module__": cls.__module__, "__doc__": cls.__doc__, "variant_of": cls}
    return type(cls.__name__, (cls, PromptHooks), facts)
