"""A chat model that answers in this process: what is left to write is the answer.

Streaming, the asynchronous twins, binding of tools and what the model reports about itself are done here.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.language_models.base import LangSmithParams
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult

from deepagents_kernel.testing.wire import message_chunks

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping, Sequence

    from langchain_core.callbacks import AsyncCallbackManagerForLLMRun, CallbackManagerForLLMRun
    from langchain_core.messages import AIMessage, BaseMessage
    from langchain_core.runnables import Runnable


class LocalChatModel(BaseChatModel):
    """The base of chat models without a provider; subclasses implement :meth:`answer`.

    Attributes:
        provider: what the model reports as its provider; an empty string reports none.
        model_name: what it reports as its identifier.
    """

    provider: str = "local"
    model_name: str = "local"

    @abstractmethod
    def answer(
        self, messages: list[BaseMessage], tools: tuple[Any, ...], options: Mapping[str, Any]
    ) -> AIMessage:
        """The answer to a request; must be quick, since it is called on the event loop as well.

        Args:
            messages: the request.
            tools: the bound tools.
            options: everything else that was bound or passed, such as ``tool_choice`` and ``stop``.

        Returns:
            A new message each time: the caller writes ids and metadata into it.
        """

    def bind_tools(
        self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any
    ) -> Runnable[LanguageModelInput, AIMessage]:
        """Bind tools as they are; each request carries them to :meth:`answer`."""
        if tool_choice is not None:
            kwargs["tool_choice"] = tool_choice
        return self.bind(tools=list(tools), **kwargs)

    @property
    def _llm_type(self) -> str:
        return self.provider

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        del kwargs  # a per-call ``model`` is nothing that this model could honour
        params = LangSmithParams(ls_model_type="chat", ls_model_name=self.model_name)
        if self.provider:
            params["ls_provider"] = self.provider
        if stop:
            params["ls_stop"] = stop
        return params

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del run_manager  # callbacks are told by the caller
        return _result(self._ask(messages, stop, kwargs))

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del run_manager  # callbacks are told by the caller
        return _result(self._ask(messages, stop, kwargs))

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> Iterator[ChatGenerationChunk]:
        del run_manager  # callbacks are told by the caller
        yield from message_chunks(self._ask(messages, stop, kwargs))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        del run_manager  # callbacks are told by the caller
        for chunk in message_chunks(self._ask(messages, stop, kwargs)):
            yield chunk

    def _ask(self, messages: list[BaseMessage], stop: list[str] | None, kwargs: dict[str, Any]) -> AIMessage:
        tools = tuple(kwargs.pop("tools", None) or ())
        if stop is not None:
            kwargs["stop"] = stop
        return self.answer(messages, tools, kwargs)


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])
