"""From a model string to a model, with errors that say what to do."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from langchain.chat_models import init_chat_model
from pydantic import ValidationError

from deepagents_kernel.errors import ModelPackageError, ModelSpecError, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# LangChain lists the providers in the text of its error only.
_KNOWN = re.compile(r"[Ss]upported (?:model )?providers(?: are)?: (?P<names>[\w, -]+)")
_INSTALL = re.compile(r"pip install [\w.\[\]-]+")
_VARIABLE = re.compile(r"\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b")

_FORM = "write PROVIDER:MODEL, such as openai:gpt-5.4"


def check_spec(spec: str) -> None:
    """Refuse a string that is empty, has an empty half, or has white space around one.

    Raises:
        ModelSpecError: it does.
    """
    provider, colon, model = spec.partition(":")
    if not spec.strip():
        raise ModelSpecError(spec, "no model is named", _FORM)
    if not provider.strip():
        raise ModelSpecError(spec, "the provider in front of the colon is missing", _FORM)
    if colon and not model.strip():
        raise ModelSpecError(spec, "the model behind the colon is missing", _FORM)
    if provider != provider.strip() or model != model.strip():
        hint = f"write: {provider.strip()}{colon}{model.strip()}"
        raise ModelSpecError(spec, "there is white space where none belongs", hint)


def build_model(spec: str, kwargs: Callable[[], Mapping[str, Any]]) -> Any:
    """Build the model.

    Args:
        spec: the string as the user wrote it.
        kwargs: gives the keyword arguments; what a provider's check raises there is treated the same.

    Raises:
        ModelSpecError: the provider is unknown, or its class refuses to be constructed.
        ModelPackageError: a package is missing or too old.
    """
    try:
        return init_chat_model(spec, **kwargs())
    except ImportError as error:
        raise _package_error(spec, error) from error
    except Exception as error:
        known = _KNOWN.search(str(error)) if isinstance(error, ValueError) else None
        if known is not None:
            raise _unknown_provider(spec, known["names"]) from error
        raise ModelSpecError(spec, _reason(error), _variable_hint(error)) from error


def _package_error(spec: str, error: ImportError) -> ModelPackageError:
    install = _INSTALL.search(str(error))
    cause = error.__cause__
    if install is None or not isinstance(cause, ImportError):
        return ModelPackageError(spec, str(error), install[0] if install else "")
    package = install[0].removeprefix("pip install ")
    if isinstance(cause, ModuleNotFoundError) and cause.name == package.replace("-", "_"):
        return ModelPackageError(spec, f"the package {package} is not installed", install[0])
    reason = f"the package {package} is installed and can't be imported: {cause}"
    return ModelPackageError(spec, reason, f"pip install --upgrade {package}")


def _unknown_provider(spec: str, names: str) -> ModelSpecError:
    known = [name.strip() for name in names.split(",")]
    provider, colon, _ = spec.partition(":")
    if not colon:
        return ModelSpecError(spec, "the provider can't be told from the name of the model", _FORM)
    # The list is long; without a near name it is the only help there is.
    hint = nearest_hint(provider, known) or f"known: {', '.join(known)}"
    return ModelSpecError(spec, f"no provider is named {provider!r}", hint)


def _reason(error: Exception) -> str:
    if isinstance(error, ValidationError):
        # Pydantic's own text shows the input, and with it the API key.
        details = error.errors(include_input=False, include_url=False, include_context=False)
        return "; ".join(f"{'.'.join(map(str, item['loc']))}: {item['msg']}".lstrip(": ") for item in details)
    return f"{type(error).__name__}: {error}"


def _variable_hint(error: Exception) -> str:
    names = list(dict.fromkeys(_VARIABLE.findall(_reason(error))))
    return f"set the environment variable {' or '.join(names)}" if names else ""
