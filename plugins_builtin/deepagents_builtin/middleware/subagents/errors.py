"""Errors of delegation at run time."""

from __future__ import annotations

from deepagents_kernel.errors import DeepAgentsError


class ChildResultError(DeepAgentsError, ValueError):
    """A sub-agent returned something that is not a state with messages.

    Attributes:
        subagent: name of the sub-agent.
        got: what came instead, in words.
    """

    def __init__(self, subagent: str, got: str) -> None:
        self.subagent = subagent
        self.got = got
        super().__init__(
            f"subagent {subagent!r} returned {got}; the state that a compiled subagent returns must be a "
            "mapping with a list under 'messages', whose last assistant message is the report"
        )


class ResponseFormatError(DeepAgentsError, ValueError):
    """A response format was requested for a sub-agent that can't be given one.

    The caller of the run asked for it, not the model: the run stops.

    Attributes:
        subagent: name of the sub-agent.
        reason: why it can't be given one.
    """

    def __init__(self, subagent: str, reason: str) -> None:
        self.subagent = subagent
        self.reason = reason
        super().__init__(f"subagent {subagent!r} can't be given a response format for this run: {reason}")
