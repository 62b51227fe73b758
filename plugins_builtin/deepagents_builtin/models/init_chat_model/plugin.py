"""The ``model.init-chat-model`` plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from deepagents_builtin.models.init_chat_model.settings import InitChatModelSettings
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.plugins.info import PluginInfo

if TYPE_CHECKING:
    from deepagents_kernel.kernel import Kernel

PLUGIN = PluginInfo(
    summary="Builds models from strings such as 'openai:gpt-5.4', for each provider that LangChain knows.",
    settings=InitChatModelSettings,
)


@hookimpl(trylast=True)
def deepagents_resolve_model(spec: str, kernel: Kernel) -> Any:
    """Answer to every string that no other plugin has answered to.

    Raises:
        ModelSpecError: the string is malformed, its provider unknown, or the model can't be constructed.
        ModelPackageError: the provider's package is missing; the hint says how to install it.
    """
    from deepagents_builtin.models.init_chat_model.build import build_model, check_spec
    from deepagents_kernel.profiles.lookup import provider_kwargs

    check_spec(spec)
    settings = kernel.settings(InitChatModelSettings)
    return build_model(spec, lambda: provider_kwargs(kernel.profiles, spec, settings.kwargs()))
