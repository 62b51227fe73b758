"""The packages that the kernel needs and could use, by the metadata of its own distribution."""

from __future__ import annotations

import importlib.metadata
import platform
import sys
from typing import TYPE_CHECKING

from deepagents_kernel._version import __version__
from deepagents_kernel.cli.doctor.facts import Finding
from deepagents_kernel.plugins.catalog import KERNEL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from packaging.requirements import Requirement

# Shown where the metadata of the kernel are missing, as in a source tree that is not installed.
_KNOWN = ("attrs", "cattrs", "click", "langchain", "langgraph", "pluggy", "rich", "structlog")


def package_versions() -> dict[str, str]:
    """The kernel, Python, and the packages that the kernel needs; empty for one that is not installed."""
    found = {KERNEL: __version__, "Python": platform.python_version()}
    names = sorted(item.name for item in _requirements("")) or _KNOWN
    return {**found, **{name: _version(name) for name in names}}


def packages() -> Iterator[Finding]:
    """Packages that are missing or too old, and extras that are not installed."""
    try:
        metadata = importlib.metadata.metadata(KERNEL)
    except importlib.metadata.PackageNotFoundError:
        text = f"{KERNEL} is not installed as a package, so its extras and what it needs are not known"
        yield Finding("note", text, f"install it: pip install {KERNEL}")
        return
    for item in _requirements(""):
        fault = _fault(item)
        if fault:
            yield Finding("problem", f"{KERNEL} needs {item}: {fault}", f"pip install '{item}'")
    for extra in metadata.get_all("Provides-Extra") or ():
        missing = [item.name for item in _requirements(extra) if _fault(item)]
        if missing:
            text = f"the extra {extra!r} is not installed: {', '.join(missing)}"
            yield Finding("note", text, f"if you want it: pip install '{KERNEL}[{extra}]'")


def interpreter() -> str:
    """The Python that runs this."""
    return sys.executable or "unknown"


def _requirements(extra: str) -> Iterator[Requirement]:
    """What the kernel requires, or one extra of it alone."""
    from packaging.requirements import Requirement

    try:
        lines = importlib.metadata.requires(KERNEL) or []
    except importlib.metadata.PackageNotFoundError:
        return
    for item in map(Requirement, lines):
        always = item.marker is None or item.marker.evaluate({"extra": ""})
        with_it = always or (item.marker is not None and item.marker.evaluate({"extra": extra}))
        if always if not extra else (with_it and not always):
            item.marker = None
            yield item


def _fault(item: Requirement) -> str:
    version = _version(item.name)
    if not version:
        return "it is not installed"
    return "" if item.specifier.contains(version, prereleases=True) else f"{version} is installed"


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name) or ""
    except importlib.metadata.PackageNotFoundError:
        return ""
