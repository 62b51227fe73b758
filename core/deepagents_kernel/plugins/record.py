"""What an installed distribution consists of: its files, held against the RECORD that it came with."""

from __future__ import annotations

import base64
import csv
import io
import os
import stat
import sys
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import TYPE_CHECKING

from attrs import field, frozen

from deepagents_kernel.plugins.installed import read_metadata

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping
    from importlib.machinery import ModuleSpec
    from importlib.metadata import Distribution

    from deepagents_kernel.plugins.installed import InstalledPlugin

_SHOWN = 3

_IMPORTABLE = (".py", ".pyc", ".pyd", ".so")
_HASHES = frozenset({"sha256", "sha384", "sha512"})


@frozen
class InstalledState:
    """The files of a plugin's distribution.

    Attributes:
        editable: whether it is an editable installation, whose files can't be checked.
        digest: of all its files; empty when something is wrong with them.
        fault: what is wrong; empty for nothing.
    """

    editable: bool = False
    digest: str = ""
    fault: str = ""


@frozen
class _Files:
    hashes: Mapping[str, str] = field(factory=dict)
    fault: str = ""
    root: Path = field(factory=Path)


@frozen(eq=False)
class RecordReader:
    """Reads the files of distributions, those of each once, however many plugins it has."""

    _known: dict[int, tuple[Distribution, _Files]] = field(factory=dict, init=False)

    def state(self, plugin: InstalledPlugin) -> InstalledState:
        """How the files of a plugin's distribution are now."""
        dist = plugin.dist
        if dist is None:
            return InstalledState(fault="its distribution is not known, so its files can't be checked")
        try:
            if _is_editable(dist):
                return InstalledState(editable=True)
            # With the distribution itself, so that its identity is not given to another one meanwhile.
            if id(dist) not in self._known:
                self._known[id(dist)] = (dist, _checked(dist))
            return _state(self._known[id(dist)][1], plugin)
        except Exception as error:  # whatever can't be checked differs
            return InstalledState(fault=f"its files can't be checked: {type(error).__name__}: {error}")


def _state(files: _Files, plugin: InstalledPlugin) -> InstalledState:
    import hashlib

    if files.fault:
        return InstalledState(fault=files.fault)
    module = plugin.value.partition(":")[0]
    uncovered = _uncovered(module, files.hashes)
    if uncovered:
        return InstalledState(fault=f"its RECORD does not cover {uncovered}")
    shadow = _shadow(module, files)
    if shadow:
        return InstalledState(fault=f"{shadow}, which is not of {plugin.distribution}")
    lines = "".join(f"{name},{files.hashes[name]}\n" for name in sorted(files.hashes))
    return InstalledState(digest=f"sha256:{hashlib.sha256(lines.encode()).hexdigest()}")


def _is_editable(dist: Distribution) -> bool:
    import json

    origin = _text(dist, "direct_url.json")
    if origin is not None:
        return json.loads(origin).get("dir_info", {}).get("editable") is True
    # Before there was such a file, it was a path to a source tree with an .egg-info and nothing recorded.
    if _text(dist, "PKG-INFO") is None or _root(dist).name in {"site-packages", "dist-packages"}:
        return False
    return _text(dist, "RECORD") is None and _text(dist, "installed-files.txt") is None


def _checked(dist: Distribution) -> _Files:
    record = _text(dist, "RECORD")
    if record is None:
        return _Files(fault="it has no RECORD, so its files can't be checked")
    root = _root(dist)
    environment = _environment(root)
    files: dict[str, str] = {}
    faults: list[str] = []
    recorded: set[Path] = set()
    for name, expected in _rows(record):
        place = Path(os.path.normpath(root / name))
        recorded.add(place)
        content, fault = _content(name, place, expected, environment)
        if fault:
            faults.append(f"{name!r} {fault}")
        elif content:
            files[name] = content
    faults += [f"{place.relative_to(root).as_posix()!r} is not in it" for place in _extra(root, recorded)]
    if faults:
        more = f", and {len(faults) - _SHOWN} more" if len(faults) > _SHOWN else ""
        return _Files(fault=f"its files are not those of its RECORD: {', '.join(faults[:_SHOWN])}{more}")
    return _Files(files, root=root)


def _text(dist: Distribution, file: str) -> str | None:
    """What stands in a file of the metadata; a pipe or a device in place of one is an error, and not read."""
    content = read_metadata(dist, file)
    return None if content is None else content.decode("utf-8")


def _root(dist: Distribution) -> Path:
    return Path(os.path.realpath(str(dist.locate_file(""))))


def _environment(root: Path) -> Path:
    """What paths of RECORD may not leave: the folder above ``lib/python3.x/site-packages``."""
    if root.name in {"site-packages", "dist-packages"}:
        for library in root.parents[:2]:
            if library.name.lower() in {"lib", "lib64"}:
                return library.parent
    prefix = Path(os.path.realpath(sys.prefix))
    return prefix if root.is_relative_to(prefix) else root


def _rows(record: str) -> Iterator[tuple[str, str]]:
    """Path and hash of each file in RECORD."""
    for row in csv.reader(io.StringIO(record), strict=True):
        if row:
            yield row[0], row[1] if len(row) > 1 else ""


def _content(name: str, place: Path, expected: str, environment: Path) -> tuple[str, str]:
    """SHA-256 of a recorded file, empty for one that is not checked; and what is wrong with it."""
    if PurePosixPath(name).is_absolute() or PureWindowsPath(name).is_absolute():
        return "", "is an absolute path"
    if not place.is_relative_to(environment):
        return "", "lies outside of the environment"
    if any(ord(character) < 32 for character in name):
        return "", "has a control character in its name"
    # Python writes compiled caches anew as it likes. RECORD itself and its signatures have no hash either.
    if not expected or _is_cache(place):
        return "", "has no hash" if _is_module(place) else ""
    try:
        return _hashed(place, *expected.split("=", 1))
    except OSError as error:
        return "", "is missing" if isinstance(
            error, FileNotFoundError
        ) else f"can't be read: {error.strerror}"


def _hashed(file: Path, algorithm: str, digest: str = "") -> tuple[str, str]:
    import hashlib

    if algorithm not in _HASHES:
        return "", f"has a hash by {algorithm!r}, which proves nothing"
    if not stat.S_ISREG(file.stat().st_mode):
        return "", "is not a file"
    with file.open("rb") as stream:
        content = found = hashlib.file_digest(stream, "sha256")
        if algorithm != "sha256":
            stream.seek(0)
            found = hashlib.file_digest(stream, algorithm)
    same = base64.urlsafe_b64encode(found.digest()).decode().rstrip("=") == digest.rstrip("=")
    return (content.hexdigest(), "") if same else ("", "has changed")


def _is_cache(place: Path) -> bool:
    return place.suffix == ".pyc" and place.parent.name == "__pycache__"


def _is_module(place: Path) -> bool:
    return place.suffix in _IMPORTABLE and not _is_cache(place)


def _extra(root: Path, recorded: Collection[Path]) -> Iterator[Path]:
    """What could be imported next to the recorded modules, or in place of one, and is not recorded.

    In ``site-packages`` itself, which distributions share, only what takes the name of a recorded module.
    """
    modules: dict[Path, set[str]] = {}
    for place in recorded:
        if _is_module(place) and place.is_relative_to(root):
            modules.setdefault(place.parent, set()).add(place.name.partition(".")[0])
    for folder, names in sorted(modules.items()):
        for entry in sorted(folder.iterdir()) if folder.is_dir() else ():
            if entry.name in names:  # a folder goes before a module of its name
                yield from (file for file in entry.glob("__init__.*") if _is_foreign(file, recorded))
            elif (folder != root or entry.name.partition(".")[0] in names) and _is_foreign(entry, recorded):
                yield entry


def _is_foreign(place: Path, recorded: Collection[Path]) -> bool:
    return _is_module(place) and place not in recorded and place.is_file()


def _uncovered(module: str, files: Mapping[str, str]) -> str:
    """What a plugin is loaded from and RECORD has no hash for."""
    if not any(name.endswith(".dist-info/entry_points.txt") for name in files):
        return "its entry_points.txt"
    return "" if any(_recorded_as(module, files)) else f"the module {module}, which the plugin is loaded from"


def _recorded_as(module: str, files: Iterable[str]) -> Iterator[str]:
    """The recorded files that a module may be imported from."""
    path = module.replace(".", "/")
    starts = (f"{path}.", f"{path}/__init__.")
    return (name for name in files if name.endswith(_IMPORTABLE) and name.startswith(starts))


def _shadow(module: str, files: _Files) -> str:
    """What Python would import in place of a module that was checked; empty for nothing.

    Something of the same name may come first on the path: in a folder of ``PYTHONPATH``, or in the working
    directory, where an agent may have written it. What is not found at all is none of it: importing it fails.
    """
    for name, spec in _specs(module):
        # A namespace package has no code of its own.
        if spec.origin is None and spec.submodule_search_locations is not None:
            continue
        origin = os.path.realpath(spec.origin or "")
        recorded = (os.path.realpath(files.root / file) for file in _recorded_as(name, files.hashes))
        if not spec.has_location or origin not in recorded:
            return f"{name} would be imported from {spec.origin}"
    return ""


def _specs(module: str) -> Iterator[tuple[str, ModuleSpec]]:
    """Where Python would import a module from, and the packages around it first; imports none of them."""
    import importlib.util
    from importlib.machinery import PathFinder

    names = module.split(".")
    spec = importlib.util.find_spec(names[0])
    for count, tail in enumerate(names[1:], 2):
        if spec is None:
            return
        yield ".".join(names[: count - 1]), spec
        # By its last part: with the whole name, a namespace package would look for the one around it in
        # what is imported.
        spec = PathFinder.find_spec(tail, list(spec.submodule_search_locations or ()))
    if spec is not None:
        yield module, spec
