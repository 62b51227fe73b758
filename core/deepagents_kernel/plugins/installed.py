"""Plugins that installed distributions declare: names and versions, found without importing any of them."""

from __future__ import annotations

import importlib
import importlib.metadata
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from attrs import field, frozen

from deepagents_kernel.config.paths import read_regular
from deepagents_kernel.plugins.names import distribution_key

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@frozen
class InstalledPlugin:
    """A plugin that an installed distribution declares.

    Attributes:
        name: the name that it is registered under: that of the entry point, or for a group of deepagents'
            own convention one that is made from distribution and entry point.
        entry_point: name of the entry point, as written.
        group: its group.
        value: ``module:attribute``.
        distribution: name of the distribution as its metadata writes it; empty if they don't say.
        version: version of the distribution; empty if the metadata don't say.
        requirements: what the distribution requires of the kernel, such as ``"deepagents-kernel>=0.1"``.
        optional: off until somebody enables it by name.
        legacy: ``"provider"`` or ``"harness"`` for a callable that registers profiles itself.
        dist: the distribution itself.
    """

    name: str
    entry_point: str
    group: str
    value: str
    distribution: str = ""
    version: str = ""
    requirements: tuple[str, ...] = ()
    optional: bool = False
    legacy: str = ""
    dist: importlib.metadata.Distribution | None = field(default=None, eq=False, repr=False)


@frozen
class ScanTrouble:
    """A part of the environment that could not be read.

    Attributes:
        where: the distribution or folder.
        reason: what is wrong with it.
    """

    where: str
    reason: str


@frozen
class Scan:
    """What is installed.

    Attributes:
        plugins: sorted by name, then distribution.
        troubles: what could not be read.
    """

    plugins: tuple[InstalledPlugin, ...] = ()
    troubles: tuple[ScanTrouble, ...] = ()


#: Entry point group to the kind of callable that it holds; empty for plugins of this kernel's own convention.
GROUPS = {
    "deepagents.plugins": "",
    "deepagents.optional_plugins": "",
    "deepagents.provider_profiles": "provider",
    "deepagents.harness_profiles": "harness",
}
OPTIONAL_GROUP = "deepagents.optional_plugins"
KERNEL = "deepagents-kernel"

_ENTRY_POINTS = "entry_points.txt"
_TARGET = re.compile(r"(?P<module>\w+(\.\w+)*)\s*(:\s*(?P<attribute>\w+(\.\w+)*))?\s*(\[.*\])?")
_REQUIRED_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_HEADERS_END = re.compile(rb"\r?\n\r?\n")


def scan(path: Sequence[str] | None = None) -> Scan:
    """Look at every installed distribution once.

    Nothing is imported and nothing remembered: what was installed a moment ago is found. As for Python
    itself, the first distribution of a name on the path hides later ones.

    Args:
        path: folders to look in; ``None`` for ``sys.path``.

    Returns:
        The plugins, and what could not be read; trouble with one distribution never hides another.
    """
    plugins: list[InstalledPlugin] = []
    troubles: list[ScanTrouble] = []
    seen: set[str] = set()
    _forget_listings(troubles)
    for dist in _distributions(path, troubles):
        try:
            key = _key(dist)
            if key not in seen:
                seen.add(key)
                plugins += _plugins_of(dist, _Notes(_where(dist), troubles))
        except Exception as error:  # a distribution of a foreign finder may raise anything
            troubles.append(ScanTrouble(_where(dist), f"it can't be read: {_describe(error)}"))
    plugins.sort(key=lambda plugin: (plugin.name, plugin.distribution, plugin.group, plugin.value))
    return Scan(tuple(plugins), tuple(troubles))


@frozen(eq=False, repr=False)
class _Notes:
    """Takes down what is wrong with one distribution."""

    where: str
    troubles: list[ScanTrouble]

    def add(self, reason: str) -> None:
        self.troubles.append(ScanTrouble(self.where, reason))


def _forget_listings(troubles: list[ScanTrouble]) -> None:
    """Drop what Python remembers of its folders: that is keyed by a time stamp, which can be too coarse."""
    try:
        importlib.invalidate_caches()
        # On Python 3.11 the line above leaves the listings of distributions alone; an instance, because it is
        # a class method only from 3.12 on.
        importlib.metadata.MetadataPathFinder().invalidate_caches()
    except Exception as error:
        troubles.append(ScanTrouble("sys.meta_path", f"a finder can't be refreshed: {_describe(error)}"))


def _distributions(
    path: Sequence[str] | None, troubles: list[ScanTrouble]
) -> Iterator[importlib.metadata.Distribution]:
    try:
        if path is None:
            yield from importlib.metadata.distributions()
        else:
            yield from importlib.metadata.distributions(path=list(path))
    except Exception as error:
        troubles.append(ScanTrouble("sys.meta_path", f"a finder is broken: {_describe(error)}"))
    else:
        return
    # What Python's own finder knows is still there, folder by folder in case that one of them is at fault.
    for folder in sys.path if path is None else path:
        try:
            context = importlib.metadata.DistributionFinder.Context(path=[folder])
            yield from importlib.metadata.MetadataPathFinder.find_distributions(context)
        except Exception as error:
            troubles.append(ScanTrouble(str(folder), f"it can't be listed: {_describe(error)}"))


def _folder(dist: importlib.metadata.Distribution) -> Path | None:
    """The metadata folder of a distribution, or ``None`` for one that a foreign finder made.

    There is no public way to it, and it is worth a private name: ``read_text`` says of an unreadable file
    that there is none, and ``name`` parses all metadata, which takes ten times as long as the whole scan.
    """
    return getattr(dist, "_path", None)


def _where(dist: importlib.metadata.Distribution) -> str:
    folder = _folder(dist)
    return type(dist).__name__ if folder is None else str(folder)


def _key(dist: importlib.metadata.Distribution) -> str:
    """What distributions hide each other by: the name in that of the folder, as Python reads it."""
    folder = _folder(dist)
    if folder is not None and folder.name.lower().endswith((".dist-info", ".egg-info")):
        return distribution_key(folder.name.rpartition(".")[0].partition("-")[0])
    return distribution_key(dist.metadata["Name"] or _where(dist))


def _plugins_of(dist: importlib.metadata.Distribution, notes: _Notes) -> Iterator[InstalledPlugin]:
    text = _entry_points_text(dist, notes)
    if "deepagents." not in text:
        return
    entries = dict.fromkeys(_entries(text, notes))
    if not entries:
        return
    folder = _folder(dist)
    if folder is not None and folder.name.startswith("~"):
        notes.add("it is left over from an interrupted run of pip; delete the folder")
        return
    name, version, requirements = _facts(dist, notes)
    if name and folder is not None and folder.suffix == ".dist-info" and distribution_key(name) != _key(dist):
        # Whatever is said of a distribution by name would be true of one that only says so.
        notes.add(f"its metadata give the name {name!r}, which is not that of the folder")
        return
    for group, entry_point, value in entries:
        legacy = GROUPS[group]
        yield InstalledPlugin(
            name=_legacy_name(legacy, name, entry_point) if legacy else entry_point,
            entry_point=entry_point,
            group=group,
            value=value,
            distribution=name,
            version=version,
            requirements=requirements,
            optional=group == OPTIONAL_GROUP,
            legacy=legacy,
            dist=dist,
        )


def _entry_points_text(dist: importlib.metadata.Distribution, notes: _Notes) -> str:
    try:
        return (read_metadata(dist, _ENTRY_POINTS) or b"").decode("utf-8")
    except NotADirectoryError:
        # A file of that ending is how distutils wrote metadata, and it has no entry points.
        if not notes.where.endswith(".egg-info"):
            notes.add("it is a file where a folder belongs")
    except (OSError, UnicodeDecodeError) as error:
        notes.add(f"{_ENTRY_POINTS} can't be read: {_describe(error)}")
    return ""


def _entries(text: str, notes: _Notes) -> Iterator[tuple[str, str, str]]:
    """Group, name and target of each entry point in our groups."""
    group = ""
    for line in map(str.strip, text.splitlines()):
        if line.startswith("["):
            group = line[1:-1].strip() if line.endswith("]") else ""
            if not group:
                notes.add(f"{_ENTRY_POINTS}: {line[:80]!r} is not the head of a group")
        elif group in GROUPS and line and line[0] not in "#;":
            name, _, value = (part.strip() for part in line.partition("="))
            target = _TARGET.fullmatch(value)
            if name and target:
                module, attribute = target["module"], target["attribute"]
                yield group, name, f"{module}:{attribute}" if attribute else module
            else:
                notes.add(f"{_ENTRY_POINTS}: {line[:80]!r} in [{group}] is not name = module:attribute")


def _facts(dist: importlib.metadata.Distribution, notes: _Notes) -> tuple[str, str, tuple[str, ...]]:
    """Name and version as the metadata write them, and the requirements on the kernel."""
    headers, egg = _headers(dist, notes)
    found: dict[str, list[str]] = {"name": [], "version": [], "requires-dist": []}
    for line in headers:
        key, _, value = line.partition(":")
        if (key := key.lower()) in found:
            found[key].append(value.strip())
    required = found["requires-dist"]
    if egg and not required and read_metadata(dist, "requires.txt") is not None:
        # Where an egg keeps its requirements has changed over time; Python knows the old file as well.
        required = list(dist.requires or ())
    on_kernel = tuple(text for text in required if _required_name(text) == KERNEL)
    name, version = (next(iter(found[key]), "") for key in ("name", "version"))
    if name and not version:
        notes.add("its metadata give no version")
    return name, version, on_kernel


def _headers(dist: importlib.metadata.Distribution, notes: _Notes) -> tuple[list[str], bool]:
    """The lines up to the first blank one, and whether they are those of an egg.

    The parser for e-mail would read the description as well, at fifteen times the cost.
    """
    for file in ("METADATA", "PKG-INFO"):
        try:
            content = read_metadata(dist, file)
        except OSError as error:
            notes.add(f"{file} can't be read: {_describe(error)}")
            return [], False
        if content is not None:
            return _unfolded(_decoded(_HEADERS_END.split(content, 1)[0], file, notes)), file == "PKG-INFO"
    notes.add("it has no METADATA, so name, version and requirements are unknown")
    return [], False


def _decoded(head: bytes, file: str, notes: _Notes) -> str:
    try:
        return head.decode("utf-8")
    except UnicodeDecodeError as error:
        notes.add(f"{file} can't be read in full: {_describe(error)}")
        return head.decode("utf-8", errors="replace")


def _unfolded(head: str) -> list[str]:
    lines: list[str] = []
    for line in head.split("\n"):
        if line[:1] in {" ", "\t"} and lines:
            lines[-1] += line.rstrip()
        else:
            lines.append(line.rstrip())
    return lines


def _required_name(requirement: str) -> str:
    match = _REQUIRED_NAME.match(requirement) if "kernel" in requirement.lower() else None
    return distribution_key(match[1]) if match else ""


def read_metadata(dist: importlib.metadata.Distribution, file: str) -> bytes | None:
    """A file of the metadata of a distribution; ``None`` if it has none of that name.

    Raises:
        OSError: it can't be read, is no regular file, or is larger than 10 MB.
    """
    folder = _folder(dist)
    if folder is None:
        text = dist.read_text(file)
        return None if text is None else text.encode("utf-8")
    place = folder.joinpath(file)
    try:
        # That of a distribution in a zip file is no path of the system, and always a file.
        return read_regular(place) if isinstance(place, Path) else place.read_bytes()
    except FileNotFoundError:
        return None


def _legacy_name(kind: str, distribution: str, entry_point: str) -> str:
    parts = dict.fromkeys(slug for slug in (_slug(distribution), _slug(entry_point)) if slug)
    return f"{kind}.{'-'.join(parts)}"


def _slug(text: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def _describe(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return f"not UTF-8 (byte {error.start})"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return f"{type(error).__name__}: {error}"
