"""What can be told about a chat model by looking at it.

Nothing here imports LangChain: a model is asked, not classified by its class.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from deepagents_kernel.deprecations import DEFAULT_MODEL, deprecated
from deepagents_kernel.errors import ModelTypeError
from deepagents_kernel.log import get_logger
from deepagents_kernel.profiles.names import as_reported, one_spelling

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel

_log = get_logger(__name__)

_BEDROCK_PROVIDERS = frozenset({"amazon_bedrock", "anthropic_bedrock", "aws", "bedrock", "bedrock_converse"})
_BEDROCK_CLASSES = frozenset(
    {"ChatAnthropicBedrock", "ChatBedrock", "ChatBedrockConverse", "ChatBedrockNovaSonic"}
)
# An inference profile's region, then Amazon's own models; both appear on Bedrock only.
_NOVA = re.compile(r"(?:(?:apac|amer|au|eu|global|jp|sa|us|us-gov)\.)?amazon\.nova-")


def resolve_model(model: str | BaseChatModel) -> BaseChatModel:
    """A chat model from a string, by the kernel that :func:`~deepagents_kernel.get_kernel` means here.

    A chat model is returned as it is, and no kernel is made for it.

    Raises:
        ModelSpecError: nobody can make a model from the string.
        ModelTypeError: it is neither a string nor a chat model.
    """
    if not isinstance(model, str):
        from deepagents_kernel.assembly.resolve_model import checked_model

        given: BaseChatModel = checked_model(model)
        return given
    from deepagents_kernel.api import get_kernel

    resolved: BaseChatModel = get_kernel().resolve_model(model)
    return resolved


@deprecated(
    DEFAULT_MODEL.since,
    name=DEFAULT_MODEL.name,
    alternative=DEFAULT_MODEL.alternative,
    removal=DEFAULT_MODEL.removal,
)
def get_default_model() -> BaseChatModel:
    """The model of agents that are given none. Deprecated: construct the model yourself.

    Raises:
        ModelTypeError: the kernel has no default model.
        ModelSpecError: nobody can make it; :class:`ModelPackageError` names the package that is missing.
    """
    from deepagents_kernel.api import get_kernel

    kernel = get_kernel()
    spec = kernel.table.default_model
    if not spec:
        raise ModelTypeError("", "this kernel has no default model", "construct the model yourself")
    resolved: BaseChatModel = kernel.resolve_model(spec)
    return resolved


def unwrap_model(model: Any) -> Any:
    """The chat model within what ``bind``, ``bind_tools`` and ``with_config`` return; others as they are."""
    # Looked up in the instance: bindings hand on every other attribute to what they wrap.
    while (bound := getattr(model, "__dict__", {}).get("bound")) is not None:
        model = bound
    return model


def get_model_identifier(model: BaseChatModel) -> str | None:
    """The model's name at its provider: ``model_name``, else ``model``, else ``model_id``, else ``None``."""
    model = unwrap_model(model)
    for attribute in ("model_name", "model", "model_id"):
        value = getattr(model, attribute, None)
        if isinstance(value, str) and value:
            return value
    return None


def get_model_provider(model: BaseChatModel) -> str | None:
    """The provider that a model reports for tracing, or ``None`` if it can't be read."""
    model = unwrap_model(model)
    try:
        # Private by name, but the method that LangChain asks integrations to override for this purpose.
        params: object = model._get_ls_params()
    except (AttributeError, TypeError, NotImplementedError) as error:
        _log.info("model_provider_unknown", model_class=type(model).__name__, reason=repr(error))
        return None
    if not isinstance(params, Mapping):
        _log.info(
            "model_provider_unknown",
            model_class=type(model).__name__,
            reason=f"params are {type(params).__name__}",
        )
        return None
    provider = params.get("ls_provider")
    return provider if isinstance(provider, str) and provider else None


def model_matches_spec(model: BaseChatModel, spec: str) -> bool:
    """Whether a string such as ``openai:gpt-5.4``, or the bare ``gpt-5.4``, names this model.

    Args:
        model: the model.
        spec: its identifier, alone or behind a provider and a colon. Spellings of the provider that mean
            the same are equal; if the model doesn't tell its provider, the identifier decides.
    """
    identifier = get_model_identifier(model)
    if identifier is None:
        return False
    if spec == identifier:
        return True
    wanted, _, name = spec.partition(":")
    if name != identifier:
        return False
    provider = get_model_provider(model)
    if provider is None:
        _log.debug("model_matched_without_provider", spec=spec, identifier=identifier)
        return True
    return as_reported(provider) == as_reported(wanted)


def is_bedrock_model(model: str | BaseChatModel) -> bool:
    """Whether a model, or the model that a string names, is served by Amazon Bedrock."""
    if isinstance(model, str):
        provider, colon, _ = model.partition(":")
        return _NOVA.match(model) is not None or (
            bool(colon) and one_spelling(provider) in _BEDROCK_PROVIDERS
        )
    if any(cls.__name__ in _BEDROCK_CLASSES for cls in type(unwrap_model(model)).__mro__):
        return True
    reported = get_model_provider(model)
    return reported is not None and one_spelling(reported) in _BEDROCK_PROVIDERS
