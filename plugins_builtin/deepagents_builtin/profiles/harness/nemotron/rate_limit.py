"""Wait and ask again when the provider says that too much was asked."""

from __future__ import annotations

import asyncio
import re
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from langchain.agents.middleware.types import AgentMiddleware, AgentState

from deepagents_kernel.behaviour.vocabulary import name_words
from deepagents_kernel.log import get_logger

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from langchain.agents.middleware.types import ModelRequest

_log = get_logger(__name__)

# No letter may stand at either side: "separate limits" have nothing to do with it.
_MESSAGE = re.compile(r"(?<![a-z])rate[\s_-]?limit(?:s|ed|ing)?(?![a-z])", re.IGNORECASE)


def is_rate_limit(error: BaseException) -> bool:
    """Whether an error says that too many requests were made: by class, by status 429, or by its text."""
    words = " ".join(name_words(type(error).__name__))
    if re.search(r"\b(?:rate limit|ratelimit)", words):
        return True
    status = getattr(error, "status_code", None)
    if isinstance(status, int) and status == 429:
        return True
    return _MESSAGE.search(str(error)) is not None


def retry_after(error: BaseException) -> float | None:
    """Seconds that the provider asks to wait, by attribute or header; ``None`` if it does not say."""
    direct = getattr(error, "retry_after", None)
    headers = getattr(getattr(error, "response", None), "headers", None) or {}
    for value, unit in ((_header(headers, "retry-after-ms"), 0.001), (direct, 1.0)):
        seconds = _seconds(value)
        if seconds is not None:
            return seconds * unit
    stated = _header(headers, "retry-after")
    seconds = _seconds(stated)
    return _until(stated) if seconds is None and isinstance(stated, str) else seconds


def _header(headers: Mapping[str, Any], name: str) -> Any:
    try:
        return next((value for key, value in headers.items() if str(key).lower() == name), None)
    except (AttributeError, TypeError, ValueError):
        return None


def _seconds(value: Any) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        seconds = float(value)
    except (OverflowError, ValueError):
        return None
    # "nan" and "inf" are numbers for float(), and no time to wait.
    return seconds if 0 <= seconds < 1e9 else None


def _until(date: str) -> float | None:
    try:
        then = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return None
    now = datetime.now(UTC)
    return max(0.0, (then.replace(tzinfo=then.tzinfo or UTC) - now).total_seconds())


class ModelRateLimitRetryMiddleware(AgentMiddleware[AgentState[Any], Any, Any]):
    """Repeats a model call that the provider refused for its rate; any other error goes through.

    An async run waits without holding a thread. A sync run has no other way than to wait where it is;
    ``max_wait`` bounds that.

    Args:
        delays: seconds to wait before each further attempt; as many attempts as delays, and one.
        max_wait: the longest wait that the provider may ask for; if it asks for more, the error goes out.
    """

    def __init__(self, delays: Sequence[float] = (4.0, 12.0), *, max_wait: float = 60.0) -> None:
        super().__init__()
        self.delays = tuple(delays)
        self.max_wait = max_wait

    def wrap_model_call(self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Any]) -> Any:
        """Call the model, and again after a wait.

        Raises:
            Exception: what the last attempt raised, or what is no rate limit.
        """
        for delay in self.delays:
            try:
                return handler(request)
            except Exception as error:
                wait = self._wait(error, delay)
            time.sleep(wait)
        return handler(request)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[Any]]
    ) -> Any:
        """Call the model, and again after a wait.

        Raises:
            Exception: what the last attempt raised, or what is no rate limit.
        """
        for delay in self.delays:
            try:
                return await handler(request)
            except Exception as error:
                wait = self._wait(error, delay)
            await asyncio.sleep(wait)
        return await handler(request)

    def _wait(self, error: Exception, delay: float) -> float:
        """How long to wait before the next attempt; raises the error if there is to be none."""
        stated = retry_after(error) if is_rate_limit(error) else None
        if not is_rate_limit(error) or (stated is not None and stated > self.max_wait):
            raise error
        wait = delay if stated is None else stated
        _log.debug("rate_limit_retried", error=type(error).__name__, wait=wait, stated=stated is not None)
        return wait
