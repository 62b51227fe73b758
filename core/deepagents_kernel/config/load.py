"""Where configuration comes from: for a call of the library, and for the command."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from deepagents_kernel.config.environment import CONFIG_VARIABLE, LABEL, environment_source
from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.paths import OWN_FILE, PYPROJECT_TABLE, absolute_path
from deepagents_kernel.config.search import Search, is_same, is_there
from deepagents_kernel.config.source import Configuration, Level, Source, Switches
from deepagents_kernel.errors import nearest_hint

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deepagents_kernel.config.document import Document
    from deepagents_kernel.config.source import IgnoredFile, Key


def user_file() -> Path:
    """The user's own configuration file, whether there is one or not."""
    from platformdirs import user_config_path

    return user_config_path("deepagents-kernel") / OWN_FILE


def load_for_library(config: Path | str | None, environ: Mapping[str, str]) -> Configuration:
    """The configuration of a kernel that a program makes.

    No file is searched for: neither the working directory nor the user's folder has a say in what a program
    does, unless it asks for it.

    Args:
        config: a file; ``None`` for the one that ``DEEPAGENTS_CONFIG`` names, if any.
        environ: the environment variables.

    Raises:
        ConfigError: the file or a variable can't be read, or says what it can't say.
    """
    named = _named(config, "config", environ)
    files = [] if named is None else [_source(named, Level.PROJECT, environ)]
    return Configuration((*files, environment_source(environ)))


def load_for_command(
    *,
    directory: Path,
    workspace: Path | None,
    trust_workspace: bool,
    config: Path | str | None,
    environ: Mapping[str, str],
    single: Sequence[tuple[str, bool]] = (),
) -> Configuration:
    """The configuration of a call of the command.

    Args:
        directory: where the search for a project's file begins.
        workspace: the folder that an agent works in; no project file is taken from it.
        trust_workspace: take one from it all the same.
        config: a file that stands in for the project's, wherever it lies.
        environ: the environment variables.
        single: ``-p NAME`` (true) and ``-p no:NAME`` (false) in order.

    Raises:
        ConfigError: a file or a variable can't be read, or says what it can't say.
    """
    own = user_file()
    project, ignored = _project(own, directory, None if trust_workspace else workspace, config, environ)
    sources = []
    if is_there(own):
        sources.append(_source(_document(own), Level.USER, environ))
    if project is not None:
        sources.append(_source(project, Level.PROJECT, environ))
    sources.append(environment_source(environ))
    if single:
        sources.append(_command_line(single))
    return Configuration(tuple(sources), ignored)


def _project(
    own: Path, directory: Path, fence: Path | None, config: Path | str | None, environ: Mapping[str, str]
) -> tuple[Document | None, tuple[IgnoredFile, ...]]:
    named = _named(config, "--config", environ)
    if named is not None:
        return None if is_same(named.path, own) else named, ()
    search = Search(own, None if fence is None else Path(os.path.realpath(fence)))
    return search.nearest(directory), tuple(search.ignored)


# Both are imported when there is a file: without one, reading configuration costs next to nothing.


def _document(path: Path) -> Document:
    from deepagents_kernel.config.document import read_document

    return read_document(path)


def _source(document: Document, level: Level, environ: Mapping[str, str]) -> Source:
    from deepagents_kernel.config.files import source_from

    return source_from(document, level, environ)


def _named(config: Path | str | None, argument: str, environ: Mapping[str, str]) -> Document | None:
    """The file that the user names; one that can't be had is an error."""
    origin = CONFIG_VARIABLE if config is None else argument
    named = environ.get(CONFIG_VARIABLE) if config is None else config
    if named is None:
        return None
    if not os.fspath(named).strip():
        place = LABEL if config is None else argument
        raise ConfigError(
            place, "the path of the configuration file is empty", key=origin if config is None else ""
        )
    try:
        path = absolute_path(named)
    except ValueError as error:
        raise ConfigError(str(named), f"the file can't be read: {error}", f"{origin} names it") from error
    if not is_there(path):
        hint = "; ".join(part for part in (f"{origin} names it", _sibling(path)) if part)
        raise ConfigError(str(path), "there is no such file", hint)
    document = _document(path)
    if document.table is None:
        raise ConfigError(
            str(path), f"there is no table [{'.'.join(PYPROJECT_TABLE)}] in it", f"{origin} names it"
        )
    return document


def _sibling(path: Path) -> str:
    try:
        return nearest_hint(path.name, [item.name for item in path.parent.iterdir()])
    except (OSError, ValueError):
        return ""


def _command_line(single: Sequence[tuple[str, bool]]) -> Source:
    return Source(
        Level.COMMAND_LINE,
        "command line",
        switches=Switches(single=tuple(single)),
        locate=lambda key: _argument(key, single),
    )


def _argument(key: Key, single: Sequence[tuple[str, bool]]) -> str:
    for name, on in single:
        if key == ("plugins", "enable" if on else "disable", name):
            return f"-p {name}" if on else f"-p no:{name}"
    return ""
