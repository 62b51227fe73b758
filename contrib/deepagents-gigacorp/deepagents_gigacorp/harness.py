"""How agents run on models of Gigacorp. The profile of the large one is imported when somebody uses it."""

from deepagents_kernel import HarnessProfile, PluginInfo, hookimpl
from deepagents_kernel.profiles import LazyProfile

PLUGIN = PluginInfo(summary="Agents on models of Gigacorp.")

ALL = HarnessProfile(system_prompt_suffix="Answer in short sentences.", excluded_tools={"grep"})
LARGE = LazyProfile("deepagents_gigacorp.large:PROFILE")


@hookimpl
def deepagents_harness_profiles() -> list[tuple[str, HarnessProfile | LazyProfile]]:
    return [("gigacorp", ALL), ("gigacorp:large", LARGE)]
