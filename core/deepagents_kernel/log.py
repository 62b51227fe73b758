"""Structured events over the standard library's loggers.

A library never configures logging: nothing is printed unless the application has set up a handler.
Each event is a name plus fields; the fields stand in the message for people and under
``record.fields`` for machines.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, cast

import structlog

if TYPE_CHECKING:
    from collections.abc import MutableMapping


def _to_record(
    _logger: Any, _method: str, event: MutableMapping[str, Any]
) -> tuple[tuple[str], dict[str, Any]]:
    name = str(event.pop("event", ""))
    arguments: dict[str, Any] = {key: event.pop(key) for key in ("exc_info", "stack_info") if key in event}
    fields = dict(event)
    text = " ".join([name, *(f"{key}={value!r}" for key, value in fields.items())])
    # A percent sign in a value is not a format directive: the logger gets no arguments, so none is applied.
    return (text,), {**arguments, "extra": {"event": name, "fields": fields}}


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """A structured logger over ``logging.getLogger(name)``.

    The processors are given here, not taken from ``structlog.configure``: without this an application
    that never heard of structlog would see our events on its standard output.
    """
    root = logging.getLogger(name.partition(".")[0])
    if not root.handlers:
        # Without it logging's handler of last resort would print our warnings on standard error.
        root.addHandler(logging.NullHandler())
    logger = structlog.wrap_logger(
        logging.getLogger(name),
        processors=[structlog.stdlib.filter_by_level, _to_record],
        wrapper_class=structlog.stdlib.BoundLogger,
    )
    return cast("structlog.stdlib.BoundLogger", logger)
