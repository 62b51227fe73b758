"""Every hook of the kernel, by phase.

Hooks run while an agent is *built*, never once per model call: what happens at run time is LangChain
middleware and nothing else. A hook may return callables; those run later. All hooks are synchronous.

An implementation takes only the arguments it uses. Four kinds of hook, four rules for failure:

* *load*: called while a kernel is built. An exception refuses an installed plugin: it is left out, and
  nothing of it remains. A built-in, or a plugin that a program passes in, takes the kernel with it.
* *collect*: every implementation is asked; the result is nothing, one record, or an iterable of records
  (a mapping is one record; a generator is consumed at once). An exception stops the plan, and the error
  names plugin, hook and stack.
* *resolve* (``firstresult``): plugins are asked in turn, third parties before built-ins, until one answers
  with something other than ``None``. An exception stops, as above.
* *observe*: every implementation is told. An exception is logged and the next one is told.

Hook wrappers are refused: the kernel calls implementation by implementation, so that every record and
every error knows its plugin.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pluggy

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    import click

    from deepagents_kernel.assembly.context import StackContext
    from deepagents_kernel.assembly.draft import StackDraft
    from deepagents_kernel.assembly.plan import AgentPlan, StackPlan
    from deepagents_kernel.assembly.request import AgentRequest
    from deepagents_kernel.assembly.specs import ChildStack, MiddlewareSpec, PromptPart
    from deepagents_kernel.contracts.backend import BackendProtocol
    from deepagents_kernel.contracts.backend_spec import BackendSpec
    from deepagents_kernel.errors import Problem
    from deepagents_kernel.kernel import Kernel
    from deepagents_kernel.model_facts import ModelFacts
    from deepagents_kernel.plugins.registration import HookDeclarations
    from deepagents_kernel.profiles import (
        HarnessProfile,
        HarnessProfileConfig,
        LazyProfile,
        ProviderProfile,
    )

PROJECT = "deepagents"

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

# --------------------------------------------------------------------------------------------------
# load: a kernel is being put together
# --------------------------------------------------------------------------------------------------


@hookspec
def deepagents_addhooks(pluginmanager: HookDeclarations) -> None:
    """Declare hook specifications of your own, with ``pluginmanager.add_hookspecs``.

    Called first, once for each kernel, as an ordinary function and before any implementation is checked,
    so that the order in which plugins are loaded never matters.

    :param pluginmanager: has this one method of pluggy's manager, and no other.
    :returns: nothing.
    Kind: load; an exception refuses the plugin.
    """


@hookspec
def deepagents_configure(kernel: Kernel) -> None:
    """The kernel is complete: every plugin is registered, profiles and backends are known.

    Called once for each kernel, at the end of its construction; again if an installed plugin fails after
    yours was told, since the kernel is then put together anew without it (``deepagents_unconfigure`` comes
    in between).

    :param kernel: read-only; don't keep it.
    :returns: nothing.
    Kind: load; an exception refuses an installed plugin, and of any other one the kernel.
    """


@hookspec
def deepagents_unconfigure(kernel: Kernel) -> None:
    """The kernel is closed: release what was opened in :func:`deepagents_configure`.

    Called by ``Kernel.close()``, in reverse order of configuration.

    :param kernel: the kernel that closes.
    :returns: nothing.
    Kind: observe.
    """


@hookspec
def deepagents_cli_commands() -> click.Command | Iterable[click.Command] | None:
    """Commands to add to ``deepagents-kernel``.

    Called only when a command that the kernel does not know is asked for, or for ``--help``.

    :returns: click commands; a name that the kernel has already is refused.
    Kind: collect.
    """


# --------------------------------------------------------------------------------------------------
# register: what a kernel offers
# --------------------------------------------------------------------------------------------------


@hookspec
def deepagents_backends() -> BackendSpec | Iterable[BackendSpec] | None:
    """Backends that can be named in a string.

    Called once for each kernel, when a backend is first looked for; of installed plugins while it is built.

    :returns: specs; a scheme that two plugins offer is an error naming both.
    Kind: collect.
    """


@hookspec
def deepagents_provider_profiles() -> Iterable[tuple[str, ProviderProfile | LazyProfile]] | None:
    """How models of a provider, or one model, are constructed.

    Called once for each kernel, when it is built; profiles under one key are merged in plugin order.

    :returns: ``(key, profile)`` pairs; the key is ``provider`` or ``provider:model``, the profile may be a
        ``LazyProfile``, which is imported when a model uses it.
    Kind: collect.
    """


@hookspec
def deepagents_harness_profiles() -> (
    Iterable[tuple[str, HarnessProfile | HarnessProfileConfig | LazyProfile]] | None
):
    """How an agent runs on the models of a provider, or on one model.

    Called once for each kernel, when it is built; profiles under one key are merged in plugin order.

    :returns: ``(key, profile)`` pairs; the key is ``provider`` or ``provider:model``, the profile may be a
        ``LazyProfile``, which is imported when a model uses it.
    Kind: collect.
    """


@hookspec
def deepagents_model_facts() -> Iterable[tuple[str, ModelFacts]] | None:
    """What is known of the models of a provider, or of one model: sizes, input, caching, finish signals.

    Called each time that ``Kernel.model_facts`` is asked, which is for planning, not for every turn.

    :returns: ``(key, facts)`` pairs; the key is ``provider`` or ``provider:model``. Facts without ``sources``
        are refused; what isn't known stays ``None``. Rows of one key are merged in plugin order.
    Kind: collect.
    """


# --------------------------------------------------------------------------------------------------
# ask: somebody wants an agent
# --------------------------------------------------------------------------------------------------


@hookspec
def deepagents_agent_requested(request: AgentRequest) -> None:
    """An agent is about to be planned.

    Called at the start of each ``Kernel.plan``, before models and backends are resolved.

    :param request: everything that the caller asked for; immutable.
    :returns: nothing; what shall not be built is refused in :func:`deepagents_plan_validate`.
    Kind: observe.
    """


# --------------------------------------------------------------------------------------------------
# resolve: strings become objects
# --------------------------------------------------------------------------------------------------


@hookspec(firstresult=True)
def deepagents_resolve_model(spec: str, kernel: Kernel) -> Any | None:
    """Turn a model string into a chat model.

    Called for each model string of a request, before any middleware is collected.

    :param spec: the string exactly as the user wrote it, such as ``openai:gpt-5.4``.
    :param kernel: read-only; its profile registry is complete.
    :returns: a ``BaseChatModel``, or ``None`` to let the next plugin try.
    :raises ModelSpecError: the string is yours but the rest is wrong; stops planning.
    Kind: resolve.
    """


@hookspec
def deepagents_model_resolved(spec: str, model: Any) -> None:
    """A model string became a chat model.

    Called for each model string of a request, main and children.

    :param spec: the string exactly as the user wrote it.
    :param model: the chat model, as it is handed to the agent.
    :returns: nothing; to make the model yourself implement :func:`deepagents_resolve_model`.
    Kind: observe.
    """


@hookspec(firstresult=True)
def deepagents_resolve_backend(spec: str, kernel: Kernel) -> BackendProtocol | None:
    """Turn a backend string with a scheme that no ``BackendSpec`` offers into a backend.

    Called once a plan, before any middleware is collected.

    :param spec: the string exactly as the user wrote it, such as ``s3:bucket/prefix``.
    :param kernel: read-only; its registries are complete.
    :returns: a backend, or ``None`` to let the next plugin try.
    :raises BackendSpecError: the scheme is yours but the rest is wrong; stops planning.
    Kind: resolve.
    """


# --------------------------------------------------------------------------------------------------
# plan: what a stack is made of
# --------------------------------------------------------------------------------------------------


@hookspec
def deepagents_child_stacks(context: StackContext) -> ChildStack | Iterable[ChildStack] | None:
    """Stacks to plan below this one.

    Called once for each stack, before its middleware is collected, so that a slot can depend on
    ``context.children``.

    :param context: the stack being planned; its ``children`` are still empty.
    :returns: child stacks, in the order in which they are listed to the model.
    Kind: collect.
    """


@hookspec
def deepagents_tools(context: StackContext) -> Any:
    """Tools that a stack gets besides those of the caller and of its middleware.

    Called once for each stack, before its middleware is collected.

    :param context: the stack being planned.
    :returns: tools as LangChain takes them (a ``BaseTool``, a function, a provider's tool dict).
    Kind: collect.
    """


@hookspec
def deepagents_middleware(context: StackContext) -> MiddlewareSpec | Iterable[MiddlewareSpec] | None:
    """The slots that a plugin has in this stack.

    Called once for each stack. Always yield your slot, ``vacant=True`` when there is nothing to fill it with:
    a caller who passes middleware of that name then finds its place.

    :param context: the stack being planned.
    :returns: specs.
    Kind: collect.
    """


@hookspec
def deepagents_system_prompt(context: StackContext) -> PromptPart | Iterable[PromptPart] | None:
    """Text for the system prompt of a stack, fixed when the plan is made.

    Called once for each stack but forks, which keep their parent's prompt byte for byte.

    :param context: the stack being planned.
    :returns: prompt parts; parts of one slot follow plugin order.
    Kind: collect.
    """


@hookspec(firstresult=True)
def deepagents_state_schema(context: StackContext) -> type | None:
    """The base state schema of a stack whose request names none.

    Called once for each stack.

    :param context: the stack being planned.
    :returns: a TypedDict that extends ``DeepAgentState``, or ``None``.
    Kind: resolve.
    """


@hookspec
def deepagents_plan_modify(draft: StackDraft) -> None:
    """Reorder or annotate the entries of a stack.

    Called once for each stack, after exclusion and merging and before anything is constructed. The validators
    run afterwards: an order that breaks the segments or takes the guard's place is an error.

    :param draft: change it through its methods.
    :returns: nothing.
    Kind: collect.
    """


@hookspec(firstresult=True)
def deepagents_token_counter(context: StackContext) -> Callable[[Sequence[Any], Sequence[Any]], int] | None:
    """Something that counts tokens.

    Called when the token costs of a plan are first asked for, and by plugins that watch a budget.

    :param context: the stack whose model counts.
    :returns: a function of (messages, tool schemas in OpenAI format) to a number of tokens; ``None`` lets the
        next plugin try. Without any, the kernel's approximation answers, and the plan says so.
    Kind: resolve.
    """


# --------------------------------------------------------------------------------------------------
# verify: is the plan safe
# --------------------------------------------------------------------------------------------------


@hookspec
def deepagents_plan_validate(plan: AgentPlan) -> Problem | Iterable[Problem] | None:
    """What is wrong with a finished plan.

    Called once a plan, after everything is constructed and bound; all problems of all plugins are
    reported together.

    :param plan: the whole tree.
    :returns: problems, errors or warnings.
    Kind: collect.
    """


@hookspec
def deepagents_agent_planned(plan: AgentPlan) -> None:
    """A plan is finished and free of errors: models, middleware, prompts and tools of every stack are known.

    Called at the end of each ``Kernel.plan``.

    :param plan: the whole tree.
    :returns: nothing.
    Kind: observe.
    """


# --------------------------------------------------------------------------------------------------
# compile: a plan becomes a graph
# --------------------------------------------------------------------------------------------------


@hookspec(firstresult=True)
def deepagents_compile(stack: StackPlan, kernel: Kernel) -> Any | None:
    """Compile a stack yourself.

    Called at most once for each stack, children included: the main stack at once, a child when it is
    first used.

    :param stack: the stack to compile.
    :param kernel: read-only.
    :returns: a ``CompiledStateGraph``, or ``None`` for the default, ``langchain.agents.create_agent``.
    Kind: resolve.
    """


@hookspec
def deepagents_agent_compiled(graph: Any, plan: AgentPlan) -> None:
    """The main agent is built.

    Called after each ``Kernel.compile``.

    :param graph: the compiled main agent, as the caller gets it.
    :param plan: the plan that it was made from.
    :returns: nothing.
    Kind: observe.
    """
