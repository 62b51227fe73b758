"""Whether a plugin fits this kernel, by what its distribution requires of it; decided before any import."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING

from deepagents_kernel.plugins.names import distribution_key

if TYPE_CHECKING:
    from collections.abc import Iterable

    from packaging.requirements import Requirement
    from packaging.specifiers import Specifier, SpecifierSet
    from packaging.version import Version

_KERNEL = "deepagents-kernel"

#: A requirement as nearly all are: no extra, no marker, no address.
_PLAIN = re.compile(r"\s*(?P<name>[A-Za-z0-9][\w.-]*?)\s*\(?(?P<specifiers>[<>=!~][^;@\[\]()]*)\)?\s*")

_EITHER_WAY = "upgrade the kernel, or install a version of the package that fits"
_UPGRADE_KERNEL = f"upgrade the kernel: pip install -U {_KERNEL}"
_UPGRADE_PACKAGE = "install a newer release of the package; this one was made for an older kernel"
_BROKEN = "the metadata of the package are broken: install another release of it, and tell its authors"


def refusal(requirements: Iterable[str], kernel_version: str) -> tuple[str, str] | None:
    """Why the kernel is not the one that a distribution requires.

    Pre-releases count as what they are: 0.2.0.dev1 satisfies ``>=0.1`` and does not satisfy ``>=0.2``. A
    requirement that belongs to an extra, or to another environment, does not apply.

    Args:
        requirements: its ``Requires-Dist`` lines; those on other distributions are passed over.
        kernel_version: version of the kernel.

    Returns:
        Reason and way out, or ``None`` when the kernel will do.
    """
    for text in requirements:
        refused = _refusal(text, kernel_version)
        if refused is not None:
            return refused
    return None


def _refusal(text: str, kernel_version: str) -> tuple[str, str] | None:
    plain = _PLAIN.fullmatch(text)
    if plain is not None and distribution_key(plain["name"]) == _KERNEL:
        try:
            return _unmet(_specifiers(plain["specifiers"]), kernel_version)
        except ValueError:
            # Whoever reads it in full says what is wrong with it.
            pass
    return _read_in_full(text, kernel_version)


@functools.cache
def _specifiers(text: str) -> SpecifierSet:
    """Specifiers by themselves: reading whole requirements costs a listing three times as much to import."""
    from packaging.specifiers import SpecifierSet

    return SpecifierSet(text)


def _read_in_full(text: str, kernel_version: str) -> tuple[str, str] | None:
    from packaging.markers import UndefinedComparison, UndefinedEnvironmentName
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        requirement = Requirement(text)
        if distribution_key(requirement.name) != _KERNEL or not _applies(requirement):
            return None
    except (InvalidRequirement, UndefinedComparison, UndefinedEnvironmentName) as error:
        what = str(error).partition("\n")[0]
        return f"its requirement {text!r} can't be read: {what}", _BROKEN
    return _unmet(requirement.specifier, kernel_version)


def _unmet(specifiers: SpecifierSet, kernel_version: str) -> tuple[str, str] | None:
    from packaging.version import Version

    kernel = Version(kernel_version)
    failing = [item for item in specifiers if not item.contains(kernel, prereleases=True)]
    if not failing:
        return None
    return f"needs {_KERNEL}{specifiers}, this is {kernel_version}", _way_out(failing, kernel)


def _applies(requirement: Requirement) -> bool:
    # No extra is ever asked for on behalf of a plugin, and a marker may look at the variable.
    return requirement.marker is None or requirement.marker.evaluate({"extra": ""})


def _way_out(failing: Iterable[Specifier], kernel: Version) -> str:
    directions = {_direction(item, kernel) for item in failing}
    if directions == {-1}:
        return _UPGRADE_KERNEL
    return _UPGRADE_PACKAGE if directions == {1} else _EITHER_WAY


def _direction(specifier: Specifier, kernel: Version) -> int:
    """-1 for a kernel that is too old, 1 for one that is too new, 0 when it can't be told."""
    from packaging.version import InvalidVersion, Version

    if specifier.operator in {">=", ">"}:
        return -1
    if specifier.operator in {"<=", "<"}:
        return 1
    if specifier.operator == "!=":
        return 0
    try:
        wanted = Version(specifier.version.removesuffix(".*"))
    except InvalidVersion:  # === takes any text
        return 0
    return (kernel > wanted) - (kernel < wanted)
