"""Distributions for tests: a few files and their entry points, as a real wheel or as a source tree.

A wheel is written by hand, without a build backend and without the network, and is the same byte for byte
whenever it is written from the same description.
"""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import json
import re
import zipfile
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from attrs import Attribute, field, frozen

from deepagents_kernel.errors import DeepAgentsError, nearest_hint

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._-]*[A-Za-z0-9])?")
_VERSION = re.compile(
    r"([1-9][0-9]*!)?(0|[1-9][0-9]*)(\.(0|[1-9][0-9]*))*((a|b|rc)(0|[1-9][0-9]*))?"
    r"(\.post(0|[1-9][0-9]*))?(\.dev(0|[1-9][0-9]*))?(\+[a-z0-9]+(\.[a-z0-9]+)*)?"
)
_GROUP = re.compile(r"\w+(\.\w+)*")

#: The oldest time that a zip file can hold; a wheel must not know when it was written.
_EPOCH = (1980, 1, 1, 0, 0, 0)

_PYPROJECT = {
    "hatchling": """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

{project}
[tool.hatch.build]
dev-mode-dirs = ["src"]

[tool.hatch.build.targets.wheel]
only-include = ["src"]
sources = ["src"]
""",
}


class DistributionError(DeepAgentsError, ValueError):
    """The description of a distribution makes no sense.

    Attributes:
        distribution: its name, as given.
        part: what is wrong: ``name``, ``version``, ``modules``, ``entry_points``, ``requires``, ``backend``.
        reason: what is wrong with it.
        hint: the way out, or an empty string.
    """

    def __init__(self, distribution: str, part: str, reason: str, hint: str = "") -> None:
        self.distribution = distribution
        self.part = part
        self.reason = reason
        self.hint = hint
        text = f"distribution {distribution!r}, {part}: {reason}"
        super().__init__(f"{text}\n  {hint}" if hint else text)


def _texts(value: Iterable[str] | str) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _table(value: Mapping[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(dict(value))


def _check_name(_: Distribution, __: Attribute[str], name: str) -> None:
    if not _NAME.fullmatch(name):
        hint = "letters, digits, '.', '_' and '-', a letter or a digit at both ends"
        raise DistributionError(name, "name", f"{name!r} is not the name of a distribution", hint)


def _check_version(distribution: Distribution, _: Attribute[str], version: str) -> None:
    if not _VERSION.fullmatch(version):
        reason = f"{version!r} is not a version in its normal form"
        raise DistributionError(distribution.name, "version", reason, "such as '1.0', '2.1rc1', '1.0.post2'")


def _check_modules(distribution: Distribution, _: Attribute[Any], modules: Mapping[str, str]) -> None:
    for path in modules:
        parts = PurePosixPath(path).parts
        plain = bool(parts) and str(PurePosixPath(path)) == path and "\\" not in path and path.isprintable()
        if not plain or path.startswith("/") or ".." in parts or parts[0].endswith(".dist-info"):
            hint = "write paths as they are below site-packages, such as 'audit.py' or 'audit/__init__.py'"
            raise DistributionError(distribution.name, "modules", f"{path!r} is no path of a module", hint)


def _check_entry_points(
    distribution: Distribution, _: Attribute[Any], entry_points: Mapping[str, Mapping[str, str]]
) -> None:
    for group, rows in entry_points.items():
        if not _GROUP.fullmatch(group):
            reason = f"{group!r} is not the name of a group"
            raise DistributionError(
                distribution.name, "entry_points", reason, "words with dots between them, as in 'my.plugins'"
            )
        for name, value in rows.items():
            # Whether the value leads anywhere is not checked: broken plugins have to be tested too.
            if not name or name != name.strip() or not name.isprintable() or name[0] in "[#;" or "=" in name:
                reason = f"{name!r} is not the name of an entry point"
                raise DistributionError(distribution.name, "entry_points", reason)
            if not value.strip() or not value.isprintable():
                reason = f"{name!r} is {value!r}, which is no entry point"
                hint = "write 'module' or 'module:attribute'"
                raise DistributionError(distribution.name, "entry_points", reason, hint)


def _check_requires(distribution: Distribution, _: Attribute[Any], requires: tuple[str, ...]) -> None:
    for text in requires:
        if not text.strip() or not text.isprintable():
            raise DistributionError(distribution.name, "requires", f"{text!r} is not a requirement")


@frozen
class Distribution:
    """A distribution with a few modules, to be installed in a test.

    Attributes:
        name: its name.
        version: its version, in its normal form.
        modules: path below ``site-packages`` to the text of the file.
        entry_points: group to the name and value of each entry point. A value that leads nowhere is taken.
        requires: what it depends on. Written down and never installed.
    """

    name: str = field(validator=_check_name)
    version: str = field(default="1.0", validator=_check_version)
    modules: Mapping[str, str] = field(factory=dict, converter=_table, validator=_check_modules)
    entry_points: Mapping[str, Mapping[str, str]] = field(
        factory=dict, converter=_table, validator=_check_entry_points
    )
    requires: tuple[str, ...] = field(
        default=("deepagents-kernel>=0.1",), converter=_texts, validator=_check_requires
    )

    @property
    def stem(self) -> str:
        """How the names of its wheel and of its metadata folder begin."""
        return f"{re.sub(r'[-_.]+', '_', self.name).lower()}-{self.version}"


def write_wheel(folder: Path, distribution: Distribution) -> Path:
    """Write a distribution as a wheel.

    Args:
        folder: where to; made if it is not there.
        distribution: what to write.

    Returns:
        Path of the wheel.
    """
    info = f"{distribution.stem}.dist-info"
    files = {
        **distribution.modules,
        f"{info}/METADATA": _metadata(distribution),
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: deepagents-kernel\n"
        "Root-Is-Purelib: true\nTag: py3-none-any\n",
    }
    if distribution.entry_points:
        files[f"{info}/entry_points.txt"] = _entry_points(distribution)
    contents = {path: text.encode("utf-8") for path, text in sorted(files.items())}
    contents[f"{info}/RECORD"] = _record(contents, f"{info}/RECORD")
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{distribution.stem}-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, content in contents.items():
            archive.writestr(_member(path), content)
    return wheel


def write_source(folder: Path, distribution: Distribution, backend: str = "hatchling") -> Path:
    """Write a distribution as a source tree: a ``pyproject.toml``, and its modules in ``src``.

    Files that are there already are written over, and others are left alone.

    Args:
        folder: where to; made if it is not there.
        distribution: what to write.
        backend: what builds it; it has to be installed where the tests run.

    Returns:
        The folder.

    Raises:
        DistributionError: the backend is unknown.
    """
    if backend not in _PYPROJECT:
        hint = nearest_hint(backend, _PYPROJECT) or f"there are: {', '.join(_PYPROJECT)}"
        raise DistributionError(distribution.name, "backend", f"no backend is called {backend!r}", hint)
    for path, text in distribution.modules.items():
        _write(folder / "src" / path, text)
    (folder / "src").mkdir(parents=True, exist_ok=True)
    _write(folder / "pyproject.toml", _PYPROJECT[backend].format(project=_project(distribution)))
    return folder


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")


def _member(path: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(path, _EPOCH)
    member.create_system = 3  # what the permissions below are written for
    member.external_attr = 0o100644 << 16
    return member


def _metadata(distribution: Distribution) -> str:
    lines = ["Metadata-Version: 2.1", f"Name: {distribution.name}", f"Version: {distribution.version}"]
    lines += [f"Requires-Dist: {text}" for text in distribution.requires]
    return "".join(f"{line}\n" for line in lines)


def _entry_points(distribution: Distribution) -> str:
    lines = []
    for group, rows in distribution.entry_points.items():
        lines += [f"[{group}]", *(f"{name} = {value}" for name, value in rows.items()), ""]
    return "\n".join(lines)


def _record(contents: Mapping[str, bytes], record: str) -> bytes:
    text = io.StringIO()
    rows = csv.writer(text, lineterminator="\n")
    for path, content in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode("ascii")
        rows.writerow([path, f"sha256={digest}", len(content)])
    rows.writerow([record, "", ""])
    return text.getvalue().encode("utf-8")


def _project(distribution: Distribution) -> str:
    lines = [
        "[project]",
        f"name = {_toml(distribution.name)}",
        f"version = {_toml(distribution.version)}",
        f"dependencies = [{', '.join(_toml(text) for text in distribution.requires)}]",
        "",
    ]
    for group, rows in distribution.entry_points.items():
        lines += [f"[project.entry-points.{_toml(group)}]"]
        lines += [*(f"{_toml(name)} = {_toml(value)}" for name, value in rows.items()), ""]
    return "\n".join(lines)


def _toml(text: str) -> str:
    # A JSON string is a basic string of TOML as well, as long as it has no control characters.
    return json.dumps(text, ensure_ascii=False)
