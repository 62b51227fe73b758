"""The hook that adds a text to the system message, in a class of its own.

The host pays for every wrapper around the model call, and decides by the class whether there is one. So the
hook is mixed in only where a text was given.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from langchain.agents.middleware.types import AgentMiddleware, ModelRequest, ModelResponse

from deepagents_kernel.contracts.system_message import append_to_system_message

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

MiddlewareT = TypeVar("MiddlewareT", bound=AgentMiddleware[Any, Any, Any])


class AppendsToSystemMessage(AgentMiddleware[Any, Any, Any]):
    """Appends the instance's ``system_prompt`` to the system message of each request."""

    system_prompt: str

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Call the model with the text appended."""
        return handler(self._with_prompt(request))

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any]:
        """Call the model with the text appended."""
        return await handler(self._with_prompt(request))

    def _with_prompt(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        return request.override(
            system_message=append_to_system_message(request.system_message, self.system_prompt)
        )


_made: dict[type, type] = {}


def with_prompt_hook(cls: type[MiddlewareT]) -> type[MiddlewareT]:
    """*cls* with the hook behind it, under the same name, for it names the middleware.

    A hook that *cls* has itself stays in front and reaches ours through ``super()``.
    """
    if cls in _made:
        return _made[cls]
    facts = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    made = type(cls.__name__, (cls, AppendsToSystemMessage), facts)
    return _made.setdefault(cls, made)
