"""Makes models of Gigacorp from strings such as ``gigacorp:large``."""

from typing import Any

from deepagents_kernel import PluginInfo, hookimpl
from deepagents_kernel.errors import ModelSpecError, nearest_hint

PLUGIN = PluginInfo(summary="Makes models of Gigacorp.")

NAMES = ("large", "small")


@hookimpl
def deepagents_resolve_model(spec: str, kernel: Any) -> Any:
    provider, _, name = spec.partition(":")
    if provider != "gigacorp":
        return None
    if name not in NAMES:
        hint = nearest_hint(name, NAMES) or f"there are: {', '.join(NAMES)}"
        raise ModelSpecError(spec, f"Gigacorp has no model {name!r}", hint)
    from deepagents_kernel.profiles import provider_kwargs

    from deepagents_gigacorp.chat import GigacorpChat

    return GigacorpChat(model_name=name, **provider_kwargs(kernel.profiles, spec))
