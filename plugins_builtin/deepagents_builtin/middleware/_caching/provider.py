"""Where a provider keeps its prompt caching middleware, and how to get at it without importing too much."""

from __future__ import annotations

import functools
import importlib
import importlib.util
import sys
from importlib.machinery import ModuleSpec, PathFinder

from attrs import frozen

from deepagents_kernel.log import get_logger

_log = get_logger(__name__)


@frozen
class CachingProvider:
    """A provider package with a prompt caching middleware.

    Attributes:
        package: its import name.
        class_name: name of the middleware class.
    """

    package: str
    class_name: str

    @property
    def module(self) -> str:
        """The module that holds the class."""
        return f"{self.package}.middleware.prompt_caching"

    @property
    def alias(self) -> str:
        """``module:qualname`` of the class, by which it can be recognised without importing it."""
        return f"{self.module}:{self.class_name}"

    def serves(self, model: object) -> bool:
        """Whether a model's class comes from the package, or derives from one that does.

        Such a model exists only if the package is loaded; nothing is imported to find out. A wrapper around a
        model (``model.bind(...)``) is not of the provider's making.
        """
        return _comes_from(type(model).__mro__, self.package)


@functools.lru_cache(maxsize=256)
def _comes_from(classes: tuple[type, ...], package: str) -> bool:
    inside = f"{package}."
    return any(cls.__module__.startswith(inside) or cls.__module__ == package for cls in classes)


@functools.cache
def is_installed(provider: CachingProvider) -> bool:
    """Whether the provider's caching module is on disk. Imports none of its packages; remembered.

    A package that is older than its caching module counts as not installed.
    """
    if provider.module in sys.modules:
        return True
    try:
        found = importlib.util.find_spec(provider.package)
    except ValueError:  # a module put into sys.modules by hand, without a spec
        return False
    for name in (f"{provider.package}.middleware", provider.module):
        found = _submodule(name, found)
    return found is not None


def _submodule(name: str, parent: ModuleSpec | None) -> ModuleSpec | None:
    # importlib.util.find_spec would import the parent of a submodule; the path finder only looks.
    if parent is None or parent.submodule_search_locations is None:
        return None
    return PathFinder.find_spec(name, list(parent.submodule_search_locations))


@functools.cache
def load_class(provider: CachingProvider) -> type | None:
    """Import the provider's middleware class; the outcome is remembered, an error is not.

    Returns:
        The class, or ``None`` if the package is missing or too old to have it.

    Raises:
        Exception: whatever an installed but broken package raises, an ``ImportError`` of some other module
            included.
    """
    try:
        module = importlib.import_module(provider.module)
    except ImportError as error:
        if error.name not in {provider.package, f"{provider.package}.middleware", provider.module}:
            raise
        _log.debug("prompt_caching_not_installed", package=provider.package, missing=error.name)
        return None
    found = getattr(module, provider.class_name, None)
    if not isinstance(found, type):
        _log.info("prompt_caching_class_missing", module=provider.module, cls=provider.class_name)
        return None
    return found


def forget() -> None:
    """Look again at the next question: for tests, and after installing a package into a running process."""
    is_installed.cache_clear()
    load_class.cache_clear()
