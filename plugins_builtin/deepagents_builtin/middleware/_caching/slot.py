"""The slot that each prompt caching plugin has in a stack."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from deepagents_kernel.assembly.specs import MiddlewareSpec, Segment

if TYPE_CHECKING:
    from deepagents_builtin.middleware._caching.standin import LazyPromptCachingMiddleware
    from deepagents_kernel.assembly.context import StackContext


@functools.cache
def caching_slot(cls: type[LazyPromptCachingMiddleware], *, vacant: bool = False) -> MiddlewareSpec:
    """A slot for a stand-in.

    Args:
        cls: the stand-in's class, named as the provider's.
        vacant: the provider's middleware is not there to stand in for.
    """

    def factory(context: StackContext) -> LazyPromptCachingMiddleware:
        middleware = cls()
        if cls.provider.serves(context.model):
            # The package is loaded anyway; if its middleware is broken, say so now and not during a run.
            middleware.prepare()
        return middleware

    return MiddlewareSpec(
        cls.provider.class_name,
        cls,
        factory,
        segment=Segment.TAIL,
        vacant=vacant,
        shared=True,
        aliases=cls.provider.alias,
        summary=f"prompt caching of {cls.provider.package}, imported when one of its models is called",
    )
