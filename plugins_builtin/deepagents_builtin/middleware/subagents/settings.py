"""Limits of delegation. They are closed by default; each can be opened on its own."""

from __future__ import annotations

from attrs import field, frozen, validators


@frozen
class SubAgentSettings:
    """How much an agent may delegate.

    Attributes:
        max_depth: how many levels of agents may stand below the main one. With 1, a compiled sub-agent that
            has a ``task`` tool of its own can't use it.
        max_fan_out: how many ``task`` calls of one model turn are carried out; the rest are refused with a
            message that says so.
        max_steps: graph steps that one child may take; ``None`` leaves it to the caller's
            ``recursion_limit``, which is never exceeded in any case.
        raise_errors: let an exception in a child end its parent's run, instead of making it the result of the
            one call.
    """

    max_depth: int = field(default=1, validator=[validators.instance_of(int), validators.ge(1)])
    max_fan_out: int = field(default=16, validator=[validators.instance_of(int), validators.ge(1)])
    max_steps: int | None = field(
        default=None, validator=validators.optional([validators.instance_of(int), validators.ge(1)])
    )
    raise_errors: bool = field(default=False, validator=validators.instance_of(bool))
