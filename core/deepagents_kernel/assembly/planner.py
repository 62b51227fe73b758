"""From a request to a plan: resolve, structure every stack, construct, bind, verify.

The planner holds no state beyond one plan. Each step is a function of its own module; this one calls them in
order and gathers their problems, so that a user sees everything that is wrong at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from attrs import evolve, frozen

from deepagents_kernel.assembly.alike import Pattern, Patterns, likeness, shareable
from deepagents_kernel.assembly.context import Contribution, StackContext
from deepagents_kernel.assembly.contexts import child_context
from deepagents_kernel.assembly.exclude import pointless_restores, unmatched
from deepagents_kernel.assembly.features import demands, unserved
from deepagents_kernel.assembly.handle import GraphHandle
from deepagents_kernel.assembly.plan import AgentPlan, Entry, StackPlan
from deepagents_kernel.assembly.problems import problems_of
from deepagents_kernel.assembly.prompt import (
    fork_prompt,
    general_purpose_prompt,
    main_prompt,
    subagent_prompt,
)
from deepagents_kernel.assembly.realize import bind, realize
from deepagents_kernel.assembly.resolve_backend import checked_backend
from deepagents_kernel.assembly.resolve_model import model_or_default
from deepagents_kernel.assembly.specs import ChildStack, PromptPart, StackKind
from deepagents_kernel.assembly.structure import Rules, Structure, structure_stack, unmet_claims
from deepagents_kernel.assembly.tools import (
    as_tools,
    rewrite_descriptions,
    stack_tool_names,
    stale_exclusions,
    stale_overrides,
)
from deepagents_kernel.assembly.verify import (
    placed,
    verify_children,
    verify_extras,
    verify_message_channel,
    verify_middleware,
    verify_model,
    verify_order,
    verify_response_format,
    verify_state,
)
from deepagents_kernel.errors import DeepAgentsError, HookError, PlanError, Problem
from deepagents_kernel.profiles.files import given_profile
from deepagents_kernel.profiles.lookup import ProfileRef, harness_for_model, harness_for_spec, overlay

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from deepagents_kernel.assembly.request import AgentRequest
    from deepagents_kernel.kernel import Kernel

RecordT = TypeVar("RecordT")

#: A plugin that answers every stack with another child stack would never end.
MAX_DEPTH = 8


@frozen(eq=False)
class _Branch:
    """A structured stack with its prompt and its branches."""

    context: StackContext
    structure: Structure
    prompt: Any
    children: tuple[_Branch, ...]
    pattern: Pattern | None = None

    def walk(self) -> Iterable[_Branch]:
        yield self
        for child in self.children:
            yield from child.walk()


def make_plan(kernel: Kernel, request: AgentRequest) -> AgentPlan:
    """Plan an agent.

    Raises:
        PlanError: with every problem found.
        DeepAgentsError: a model, a backend or a setting can't be resolved, or a hook raised.
    """
    return _Planner(kernel, request).run()


class _Planner:
    def __init__(self, kernel: Kernel, request: AgentRequest) -> None:
        # Models and backends are resolved with the agent's settings too, so the view is what plugins get.
        self.kernel = kernel.configured(request.settings)
        self.request = request
        self.rules = Rules(kernel.calls, self.kernel.guard_plugin, kernel.table.guard, kernel.builtin_names)
        self.problems: list[Problem] = []
        self.made_tools: dict[int, Any] = {}
        self.patterns = Patterns()
        self.movers = kernel.calls.providers("deepagents_plan_modify")

    def run(self) -> AgentPlan:
        self._check_features()
        main = self._branch(self._main_context(), ChildStack(StackKind.MAIN, "main"), None)
        self._check_coverage(main)
        self.problems += verify_extras((branch.context, branch.structure.entries) for branch in main.walk())
        self.problems += unmet_claims([branch.structure for branch in main.walk()])
        stack = self._realized(main)
        plan = AgentPlan(stack, plugins=self.kernel.records)
        self._check_tool_names(plan)
        self._validate(plan)
        found = map(_noted, dict.fromkeys(self.problems))
        errors = [problem for problem in found if problem.severity == "error"]
        if errors:
            raise PlanError.of(errors)
        return evolve(plan, warnings=tuple(dict.fromkeys(self.problems))) if self.problems else plan

    # -- resolve ---------------------------------------------------------------------------------

    def _check_features(self) -> None:
        served = {feature: record.name for record in self.kernel.plugins for feature in record.info.serves}
        expected = self.kernel.table.features
        self.problems += unserved(demands(self.request), served, expected, self.kernel.records)

    def _main_context(self) -> StackContext:
        request = self.request
        model, spec, registry_profile = self._resolve_model(model_or_default(self.kernel, request.model))
        profile = registry_profile
        if request.profile is not None:
            profile = overlay(registry_profile, *given_profile(request.profile))
        raw = request.tools or ()
        return StackContext(
            kind=StackKind.MAIN,
            name="main",
            path="main",
            request=request,
            model=model,
            model_spec=spec,
            profile=profile,
            registry_profile=registry_profile,
            backend=self._resolve_backend(request.backend),
            tools=rewrite_descriptions(raw, profile.profile.tool_description_overrides),
            raw_tools=raw,
            middleware=request.middleware,
            skills=request.skills,
            memory=request.memory,
            permissions=request.permissions,
            interrupt_on=request.interrupt_on,
            response_format=request.response_format,
            call=self.kernel.calls,
            settings=self.kernel.settings_by_class,
        )

    def _resolve_model(self, model: Any) -> tuple[Any, str, ProfileRef]:
        if isinstance(model, str):
            resolved = self.kernel.resolve_model(model)
            return resolved, model, harness_for_spec(self.kernel.profiles, model)
        resolved = self.kernel.resolve_model(model)
        return resolved, "", harness_for_model(self.kernel.profiles, resolved)

    def _resolve_backend(self, backend: Any) -> Any:
        if backend is None:
            return self.kernel.default_backend()
        if isinstance(backend, str):
            return self.kernel.resolve_backend(backend)
        return checked_backend(backend, "backend=")

    # -- structure -------------------------------------------------------------------------------

    def _branch(self, context: StackContext, child: ChildStack, parent_prompt: Any) -> _Branch:
        context = self._with_tools(context)
        children = self._requested_children(context)
        if children:
            context = evolve(context, children=children)
        prompt = self._prompt(context, parent_prompt)
        structure, pattern = self._structure(context, child)
        branches = tuple(filter(None, [self._child(context, item, prompt) for item in children]))
        return _Branch(context, structure, prompt, branches, pattern)

    def _structure(self, context: StackContext, child: ChildStack) -> tuple[Structure, Pattern | None]:
        slots = self._collect("deepagents_middleware", context)
        # Whoever may move entries may do so by the name of a stack.
        key = None if self.movers else likeness(context, child, slots)
        pattern = self.patterns.find(key)
        if pattern is not None:
            return pattern.structure, pattern
        structure = structure_stack(context, slots, self.rules, child.inherit)
        self.problems += structure.problems
        return structure, self.patterns.learn(key, context, structure, slots)

    def _with_tools(self, context: StackContext) -> StackContext:
        extra = self._collect("deepagents_tools", context)
        overrides = context.profile.profile.tool_description_overrides
        where = "tools=" if context.parent is None else f"tools of sub-agent {context.name}"
        tools, problems = as_tools(context.tools, where, self.made_tools)
        if context.parent is None or "tools" in context.spec:
            # What is wrong with inherited tools was reported where they were given.
            self.problems += placed(problems, context.path)
        for item in extra:
            rewritten = rewrite_descriptions([item.value], overrides)
            added, problems = as_tools(rewritten, "deepagents_tools", self.made_tools, beside=tools)
            self.problems += [problem.at(context.path, item.plugin) for problem in problems]
            tools = (*tools, *added)
        return context if tools == context.tools else evolve(context, tools=tools)

    def _requested_children(self, context: StackContext) -> tuple[ChildStack, ...]:
        found = self._records("deepagents_child_stacks", context, ChildStack)
        self.problems += placed(verify_children([child.name for child in found], context), context.path)
        if found and context.path.count("/") >= MAX_DEPTH:
            text = f"child stacks are nested more than {MAX_DEPTH} deep"
            self.problems.append(
                Problem(text, stack=context.path, hint="answer deepagents_child_stacks by context.kind")
            )
            return ()
        return tuple(found)

    def _child(self, parent: StackContext, child: ChildStack, prompt: Any) -> _Branch | None:
        path = f"{parent.path}/{child.name}"
        try:
            context = child_context(parent, child, self._resolve_model)
        except PlanError as error:
            self.problems += problems_of(error, path)
            return None
        except HookError:
            raise
        except DeepAgentsError as error:
            self.problems.append(Problem(str(error), stack=path, cause=error))
            return None
        return self._branch(context, child, prompt)

    def _prompt(self, context: StackContext, parent_prompt: Any) -> Any:
        profile = context.profile.profile
        authored = context.spec.get("system_prompt")
        if authored is not None and not isinstance(authored, str):
            text = f"'system_prompt' of a sub-agent spec takes a string, not {type(authored).__name__}"
            self.problems.append(Problem(text, stack=context.path))
            authored = None
        if context.kind is StackKind.FORK:
            return fork_prompt(parent_prompt, authored)
        parts = self._records("deepagents_system_prompt", context, PromptPart)
        if context.kind is StackKind.MAIN:
            return main_prompt(context.request.system_prompt, profile, parts)
        if context.kind is StackKind.GENERAL_PURPOSE:
            return general_purpose_prompt(authored, profile, parts)
        return subagent_prompt(authored, profile, parts)

    def _records(self, hook: str, context: StackContext, kind: type[RecordT]) -> list[RecordT]:
        """The records of a collect hook, all of one type."""
        contributions = self._collect(hook, context)
        for item in contributions:
            if not isinstance(item.value, kind):
                reason = f"returned {type(item.value).__name__}; a {kind.__name__} is expected"
                raise HookError(item.plugin, hook, context.path, reason)
        return [item.value for item in contributions]

    def _collect(self, hook: str, context: StackContext) -> Sequence[Contribution]:
        return self.kernel.calls.collect(hook, {"context": context}, at=context.path, problems=self.problems)

    # -- construct -------------------------------------------------------------------------------

    def _realized(self, branch: _Branch) -> StackPlan:
        children = tuple(self._realized(child) for child in branch.children)
        context, pattern = branch.context, branch.pattern
        schema = self._state_schema(context)
        like = pattern.entries if pattern is not None and pattern.state_schema is schema else None
        before = len(self.problems)
        stack = StackPlan(
            context=context,
            entries=self._constructed(branch) if like is None else like,
            prompt=branch.prompt,
            state_schema=schema,
            children=children,
            dropped=branch.structure.dropped,
            handle=GraphHandle(self.kernel.compile_stack),
        )
        if like is None:
            stack = self._bound(stack)
            self._verify(stack, ordered=branch.structure.ordered)
            if pattern is not None and len(self.problems) == before and shareable(stack.entries):
                pattern.entries, pattern.state_schema = stack.entries, schema
        stack.handle.attach(stack)
        return stack

    def _constructed(self, branch: _Branch) -> tuple[Entry, ...]:
        entries, found = realize(branch.structure.entries, branch.context)
        self.problems += found
        return entries

    def _bound(self, stack: StackPlan) -> StackPlan:
        if self._broken(stack.path) or not any(entry.spec and entry.spec.bind for entry in stack.entries):
            return stack
        entries, found = bind(stack.entries, stack)
        self.problems += found
        return evolve(stack, entries=entries)

    def _broken(self, path: str) -> bool:
        """Whether the stack, or one below it, has an error: nothing can be bound to it then."""
        return any(
            problem.severity == "error"
            for problem in self.problems
            if problem.stack in ("", path) or problem.stack.startswith(f"{path}/")
        )

    def _state_schema(self, context: StackContext) -> type:
        if context.request.state_schema is not None:
            return context.request.state_schema
        answer = None
        try:
            answer = self.kernel.calls.first("deepagents_state_schema", {"context": context}, at=context.path)
        except PlanError as error:
            self.problems += error.problems
        if answer is not None and not isinstance(answer.value, type):
            reason = f"returned {answer.value!r:.60}; a class is expected"
            raise HookError(answer.plugin, "deepagents_state_schema", context.path, reason)
        if answer is not None:
            schema: type = answer.value
            return schema
        from deepagents_kernel.contracts.state import DeepAgentState

        return DeepAgentState

    # -- verify ----------------------------------------------------------------------------------

    def _verify(self, stack: StackPlan, *, ordered: bool) -> None:
        found = [
            *verify_model(stack.context),
            *verify_response_format(stack.context),
            # Constraints that can't be met were reported by whoever tried to meet them.
            *(verify_order(stack.entries) if ordered else ()),
            *verify_middleware(stack.entries),
            *verify_state(stack.entries, stack.state_schema),
        ]
        if stack.context.parent is None:
            found += verify_message_channel(stack.state_schema)
        self.problems += placed(found, stack.path)

    def _check_coverage(self, main: _Branch) -> None:
        """Each exclusion matches somewhere in the stacks that share the profile."""
        for group in _by_profile(main.walk()).values():
            ref = group[0].context.profile
            hits = frozenset().union(*(branch.structure.hits for branch in group))
            stacks = {branch.context.path: branch.structure.names for branch in group}
            self.problems += unmatched(
                ref.profile.excluded_middleware, hits, by=f"profile {ref.label}", stacks=stacks
            )
            self.problems += pointless_restores(ref)

    def _check_tool_names(self, plan: AgentPlan) -> None:
        """Warn about tool names in a profile that no tool of its stacks has."""
        groups: dict[tuple[str, ...], list[StackPlan]] = {}
        for stack in plan.stacks():
            groups.setdefault(stack.context.profile.layers, []).append(stack)
        for group in groups.values():
            ref = group[0].context.profile
            if not (ref.profile.excluded_tools or ref.profile.tool_description_overrides):
                continue
            names = {name for stack in group for name in stack_tool_names(stack)}
            by = f"profile {ref.label}"
            self.problems += stale_exclusions(ref.profile.excluded_tools, names, by)
            self.problems += stale_overrides(ref.profile.tool_description_overrides, names, by)

    def _validate(self, plan: AgentPlan) -> None:
        calls = self.kernel.calls
        for item in calls.collect(
            "deepagents_plan_validate", {"plan": plan}, at="main", problems=self.problems
        ):
            if not isinstance(item.value, Problem):
                reason = f"returned {type(item.value).__name__}; a Problem is expected"
                raise HookError(item.plugin, "deepagents_plan_validate", "main", reason)
            self.problems.append(item.value.at("", item.plugin))


def _noted(problem: Problem) -> Problem:
    """The problem with the notes on the exception behind it where it has no hint."""
    notes = getattr(problem.cause, "__notes__", ())
    return evolve(problem, hint="\n     ".join(notes)) if notes and not problem.hint else problem


def _by_profile(branches: Iterable[_Branch]) -> Mapping[tuple[str, ...], list[_Branch]]:
    groups: dict[tuple[str, ...], list[_Branch]] = {}
    for branch in branches:
        groups.setdefault(branch.context.profile.layers, []).append(branch)
    return groups
