"""A middleware that stands in for a provider's, and fetches that one when a request needs it."""

from __future__ import annotations

import inspect
import threading
from typing import TYPE_CHECKING, Any, ClassVar

from langchain.agents.middleware.types import AgentMiddleware, AgentState, TracePolicy, omit_payload

from deepagents_builtin.middleware._caching.provider import CachingProvider, load_class
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
    from langchain_core.messages import AIMessage

_log = get_logger(__name__)

_OPTION = "unsupported_model_behavior"


class LazyPromptCachingMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Hands requests for a provider's models to the provider's own prompt caching middleware.

    Requests for any other model go through untouched, and cost no import. The provider's middleware is made
    once, when the first request needs it, so that switching models in a running session is covered.
    """

    provider: ClassVar[CachingProvider]

    # The conversation is on the model's own span already.
    trace_policy = TracePolicy(process_inputs=omit_payload)

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._tried = False
        self._delegate: AgentMiddleware[Any, Any, Any] | None = None

    def prepare(self) -> None:
        """Make the provider's middleware now.

        Raises:
            Exception: the provider's package is installed and broken. A missing or old one is no error.
        """
        with self._lock:
            if not self._tried:
                self._delegate = _create(self.provider)
                self._tried = True

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]:
        """Let the provider's middleware handle a request for one of its models."""
        delegate = self._delegate_for(request.model)
        return handler(request) if delegate is None else delegate.wrap_model_call(request, handler)

    async def awrap_model_call(
        self,
        request: ModelRequest[Any],
        handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]],
    ) -> ModelResponse[Any] | AIMessage | ExtendedModelResponse[Any]:
        """Let the provider's middleware handle a request for one of its models."""
        delegate = self._delegate_for(request.model)
        return await (handler(request) if delegate is None else delegate.awrap_model_call(request, handler))

    def _delegate_for(self, model: object) -> AgentMiddleware[Any, Any, Any] | None:
        if not self.provider.serves(model):
            return None
        if not self._tried:
            try:
                self.prepare()
            except Exception:
                # A run must not fail for want of a cache.
                _log.warning("prompt_caching_unavailable", package=self.provider.package, exc_info=True)
                self._tried = True
        return self._delegate


def _create(provider: CachingProvider) -> AgentMiddleware[Any, Any, Any] | None:
    cls = load_class(provider)
    if cls is None:
        return None
    parameters = inspect.signature(cls).parameters.values()
    if any(item.name == _OPTION or item.kind is item.VAR_KEYWORD for item in parameters):
        made: AgentMiddleware[Any, Any, Any] = cls(**{_OPTION: "ignore"})
        return made
    _log.info("prompt_caching_option_missing", module=provider.module, option=_OPTION)
    plain: AgentMiddleware[Any, Any, Any] = cls()
    return plain
