"""What a plugin brings, in a few words, read from the hooks that it answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepagents_kernel.plugins.calls import HookCalls
    from deepagents_kernel.plugins.info import PluginRecord

_WORDS = {
    "deepagents_middleware": "middleware",
    "deepagents_tools": "tools",
    "deepagents_system_prompt": "prompt",
    "deepagents_backends": "backends",
    "deepagents_resolve_backend": "backends",
    "deepagents_resolve_model": "models",
    "deepagents_provider_profiles": "provider profiles",
    "deepagents_harness_profiles": "harness profiles",
    "deepagents_child_stacks": "child stacks",
    "deepagents_cli_commands": "commands",
    "deepagents_compile": "compiler",
    "deepagents_token_counter": "token counter",
    "deepagents_state_schema": "state",
    "deepagents_plan_validate": "checks",
    "deepagents_plan_modify": "order",
}
_SILENT = frozenset({"deepagents_addhooks", "deepagents_configure", "deepagents_unconfigure"})
_OBSERVERS = (
    "deepagents_agent_requested",
    "deepagents_model_resolved",
    "deepagents_agent_planned",
    "deepagents_agent_compiled",
)
_WORDS |= dict.fromkeys(_OBSERVERS, "observer")
_PREFIX = "deepagents_"


def provided(calls: HookCalls, records: Mapping[str, PluginRecord]) -> dict[str, tuple[str, ...]]:
    """Plugin name to what it brings."""
    hooks: dict[str, list[str]] = {name: [] for name in records}
    for hook in calls.declared():
        for plugin in calls.providers(hook):
            hooks[plugin].append(hook)
    declared = calls.declared_by()
    inert = calls.inert()
    return {name: _words(hooks[name], len(declared.get(name, ())), inert.get(name, ())) for name in records}


def _words(hooks: Iterable[str], declared: int, inert: Iterable[str]) -> tuple[str, ...]:
    # A hook that another plugin declared is shown by its own name, without the prefix that they all have.
    words = dict.fromkeys(_WORDS.get(hook, _other(hook)) for hook in hooks)
    words.pop("", None)
    counted = [f"{declared} hook{'s' if declared > 1 else ''}"] if declared else []
    return (*words, *counted, *(f"inert: {hook.removeprefix(_PREFIX)}" for hook in inert))


def _other(hook: str) -> str:
    return "" if hook in _SILENT else hook.removeprefix(_PREFIX).replace("_", " ")
