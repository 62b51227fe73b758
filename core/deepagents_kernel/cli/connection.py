"""Tell a server that can't be reached from the other ways in which a run fails."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterator

# Names, not classes: each provider's package has its own client, and none of them is imported here.
_FAILURES = frozenset(
    {"APIConnectionError", "ClientConnectionError", "ConnectionError", "TransportError", "gaierror"}
)
_ERRNO = re.compile(r"^\[Errno -?\d+\] ")


def connection_failure(error: BaseException, base_url: str | None) -> str:
    """One line about a server that can't be reached: its address, why, and what to check.

    Args:
        error: what the run raised.
        base_url: the address that the user gave, if any.

    Returns:
        The line; empty when the error is another one, or tells of no address.
    """
    chain = list(_chain(error))
    if not any(_FAILURES.intersection(kind.__name__ for kind in type(item).__mro__) for item in chain):
        return ""
    url = next(filter(None, map(_requested, chain)), "")
    if base_url is not None and (not url or base_url in url):
        url = base_url
    if not url:
        return ""
    reasons = [text for item in chain if (text := _reason(item))]
    why = f" ({reasons[-1].rstrip('.')})" if reasons else ""
    check = "--base-url, and that a server listens there" if base_url else "the network; see also --base-url"
    return f"no connection to {url}{why}; check {check}"


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: set[int] = set()
    item: BaseException | None = error
    while item is not None and id(item) not in seen:
        seen.add(id(item))
        yield item
        item = item.__cause__ or (None if item.__suppress_context__ else item.__context__)


def _requested(error: BaseException) -> str:
    """The address that an HTTP client's error names, without what may be secret in it."""
    try:
        parts = urlsplit(str(error.request.url))  # type: ignore[attr-defined]  # looked for, not known
    except Exception:
        # No such attribute, or a client's property that complains.
        return ""
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl()


def _reason(error: BaseException) -> str:
    text = (isinstance(error, OSError) and error.strerror) or str(error)
    return _ERRNO.sub("", " ".join(text.split()))
