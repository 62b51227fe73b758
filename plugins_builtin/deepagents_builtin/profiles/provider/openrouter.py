"""The ``provider.openrouter`` plugin: who asks, by which package, and past which of its providers."""

from __future__ import annotations

import os
from typing import Any

from attrs import frozen

from deepagents_builtin.profiles.provider._settings import settings_reader
from deepagents_kernel.hookspecs import hookimpl
from deepagents_kernel.log import get_logger
from deepagents_kernel.plugins.info import PluginInfo
from deepagents_kernel.profiles.provider import ProviderProfile

_log = get_logger(__name__)

PACKAGE = "langchain-openrouter"
#: Earlier releases of the package don't take the arguments below.
NEEDED = "0.2.0"

APP_URL = "https://pypi.org/project/deepagents-kernel/"
APP_TITLE = "deepagents-kernel"

_YES = frozenset({"1", "true", "yes", "on"})


@frozen
class OpenRouterSettings:
    """Settings of the plugin; each wins over the environment variable of the same meaning.

    Attributes:
        app_url: the address that OpenRouter shows for the application; ``None`` for what
            ``OPENROUTER_APP_URL`` says, else that of this package.
        app_title: the name that it shows; ``None`` for what ``OPENROUTER_APP_TITLE`` says, else that of this
            package.
        allow_azure: whether requests may be routed to Azure; ``None`` for what
            ``DEEPAGENTS_OPENROUTER_ALLOW_AZURE`` says, else not.
    """

    app_url: str | None = None
    app_title: str | None = None
    allow_azure: bool | None = None


PLUGIN = PluginInfo(
    summary="Attribution and routing of requests to OpenRouter; refuses a package that is too old.",
    settings=OpenRouterSettings,
)


@hookimpl
def deepagents_provider_profiles() -> list[tuple[str, ProviderProfile]]:
    """The profile of every ``openrouter:...`` model."""
    settings = settings_reader(OpenRouterSettings)
    return [
        (
            "openrouter",
            ProviderProfile(pre_init=check_package, init_kwargs_factory=lambda: kwargs(settings())),
        )
    ]


def check_package(_spec: str) -> None:
    """Refuse a package that is too old for the arguments of the profile.

    One that is not installed is left to whoever constructs the model: it says how to install it.

    Raises:
        ImportError: the package is too old; both versions are named.
    """
    from importlib.metadata import PackageNotFoundError, version

    from packaging.version import InvalidVersion, Version

    try:
        installed = version(PACKAGE)
    except PackageNotFoundError:
        return
    try:
        too_old = Version(installed) < Version(NEEDED)
    except (InvalidVersion, TypeError):
        _log.warning("openrouter_version_unreadable", package=PACKAGE, version=str(installed))
        return
    if too_old:
        raise ImportError(
            f"{PACKAGE} {installed} is installed, and {NEEDED} or later is needed; upgrade it with pip"
        )


def kwargs(settings: OpenRouterSettings) -> dict[str, Any]:
    """The keyword arguments of a model, from the settings and, where these are silent, the environment."""
    found: dict[str, Any] = {}
    named = (
        ("app_url", settings.app_url, "OPENROUTER_APP_URL", APP_URL),
        ("app_title", settings.app_title, "OPENROUTER_APP_TITLE", APP_TITLE),
    )
    for key, chosen, variable, own in named:
        if chosen is not None:
            found[key] = chosen
        elif variable not in os.environ:  # the package reads it itself, an empty one included
            found[key] = own
    if not _azure_allowed(settings):
        # OpenRouter's stateless endpoint can't find stored reasoning items again when it routes to Azure:
        # a second turn of a reasoning model fails there.
        found["openrouter_provider"] = {"ignore": ["azure"]}
    return found


def _azure_allowed(settings: OpenRouterSettings) -> bool:
    if settings.allow_azure is not None:
        return settings.allow_azure
    return os.environ.get("DEEPAGENTS_OPENROUTER_ALLOW_AZURE", "").strip().lower() in _YES
