"""Turn what a user writes for a backend into one: ``state``, ``filesystem:./work?max_file_size_mb=20``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl, unquote

from attrs import fields, frozen

from deepagents_kernel.contracts.backend_spec import BackendSpec, quote_path
from deepagents_kernel.errors import (
    BackendSpecError,
    HookError,
    PlanTypeError,
    PluginError,
    Problem,
    SettingsError,
    nearest_hint,
)
from deepagents_kernel.plugins.settings import structure

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from deepagents_kernel.assembly.context import Contribution
    from deepagents_kernel.contracts.backend import BackendProtocol


_QUESTION_MARK = "what stands behind '?' are options, KEY=VALUE; write %3F for a question mark in a path"
_PATH_STARTS = ("/", "./", "../")


@frozen
class BackendAddress:
    """A backend string, taken apart.

    Attributes:
        text: as the user wrote it.
        scheme: the part before the first colon, or all of it.
        path: the part behind the colon, with ``%3F`` and the like decoded.
        options: what follows a question mark, decoded in the same way.
    """

    text: str
    scheme: str
    path: str
    options: Mapping[str, str]


def parse_backend(text: str) -> BackendAddress:
    """Take a backend string apart.

    Raises:
        BackendSpecError: it is empty, names a table of a configuration file, or has an option twice or
            without a name.
    """
    if not text.strip():
        raise BackendSpecError(text, "it is empty", "write a backend such as 'state' or 'filesystem:./work'")
    if text.startswith("@"):
        hint = "write the backend out, such as 'filesystem:./work'"
        raise BackendSpecError(text, "named backends are read from a configuration, and none was given", hint)
    scheme, _, rest = text.partition(":")
    path, _, query = rest.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    options = dict(pairs)
    if "" in options:
        raise BackendSpecError(text, "an option has no name", _QUESTION_MARK)
    if len(options) != len(pairs):
        raise BackendSpecError(text, "an option is given twice")
    # Names of files need not be UTF-8; this is how Python spells those that are not.
    return BackendAddress(text, scheme.strip(), unquote(path, errors="surrogateescape"), options)


class SchemeTakenError(PluginError):
    """Two plugins offer one backend scheme.

    Attributes:
        other: the plugin that offers it too.
    """

    def __init__(self, plugin: str, scheme: str, other: str) -> None:
        self.other = other
        super().__init__(
            plugin, f"backend scheme {scheme!r} is offered by {other} too", "disable one of them"
        )


def backend_table(contributions: Iterable[Contribution]) -> dict[str, tuple[str, BackendSpec]]:
    """Scheme to the plugin that offers it and its spec.

    Raises:
        SchemeTakenError: two plugins offer one scheme.
        HookError: a plugin returned something else than a ``BackendSpec``.
    """
    table: dict[str, tuple[str, BackendSpec]] = {}
    for item in contributions:
        spec = item.value
        if not isinstance(spec, BackendSpec):
            reason = f"returned {type(spec).__name__}; a BackendSpec is expected"
            raise HookError(item.plugin, "deepagents_backends", "", reason)
        for scheme in (spec.name, *spec.schemes):
            other = table.setdefault(scheme, (item.plugin, spec))
            if other[1] is not spec:
                raise SchemeTakenError(item.plugin, scheme, other[0])
    return table


def open_backend(address: BackendAddress, spec: BackendSpec, plugin: str) -> BackendProtocol:
    """Make the backend that an address names.

    Raises:
        BackendSpecError: unknown or bad option, or the backend refuses the path.
    """
    if spec.options is None:
        if address.options:
            raise BackendSpecError(address.text, f"{spec.name} takes no options")
        options = None
    else:
        try:
            options = structure(spec.options, address.options, spec.name, f"backend {address.text!r}")
        except SettingsError as error:
            raise _bad_option(address, spec.name, spec.options, error) from error
    backend = spec.factory(address.path, options)
    return checked_backend(backend, f"the factory of backend {spec.name} (plugin {plugin})")


def _bad_option(
    address: BackendAddress, backend: str, options: type[Any], error: SettingsError
) -> BackendSpecError:
    if error.key == backend:
        return BackendSpecError(address.text, error.reason, error.hint)
    option = error.key.removeprefix(f"{backend}.")
    hint = error.hint
    if option not in {attribute.alias for attribute in fields(options)}:
        # It may have been meant as a part of the path.
        hint = f"{hint}\n  {_QUESTION_MARK}"
    return BackendSpecError(address.text, f"option {option!r}: {error.reason}", hint)


def unknown_scheme(address: BackendAddress, schemes: Iterable[str]) -> BackendSpecError:
    """The error for a scheme that nobody offers."""
    known = sorted(schemes)
    listed = f"backends: {', '.join(known)}"
    is_folder = _is_folder(address.text)
    if is_folder or address.text.startswith(_PATH_STARTS):
        place = quote_path(address.text) if is_folder else address.text
        # The usual name of a backend over folders; a kernel may have none, or another one.
        hint = f"write 'filesystem:{place}'\n  " if "filesystem" in known else ""
        reason = "it is a path, and the name of a backend belongs in front of it"
        return BackendSpecError(address.text, reason, f"{hint}{listed}")
    hint = nearest_hint(address.scheme, known)
    return BackendSpecError(
        address.text, f"no backend named {address.scheme!r}", f"{hint}\n  {listed}" if hint else listed
    )


def _is_folder(text: str) -> bool:
    try:
        return Path(text).is_dir()
    except (OSError, ValueError):
        return False


def checked_backend(backend: Any, where: str) -> BackendProtocol:
    """The backend itself, unless it is none: a class, a factory, a path.

    Raises:
        PlanTypeError: it is not an instance of ``BackendProtocol``.
    """
    from deepagents_kernel.contracts.backend import BackendProtocol

    if isinstance(backend, BackendProtocol):
        return backend
    if isinstance(backend, type) or callable(backend):
        name = getattr(backend, "__name__", type(backend).__name__)
        text = f"{where} is {name}, a class or a function where a backend instance belongs"
        raise PlanTypeError(Problem(text, hint=f"write {name}(...)"))
    text = f"{where} is a {type(backend).__name__}, not a backend"
    raise PlanTypeError(
        Problem(text, hint="pass a BackendProtocol instance, or a string such as 'filesystem:./work'")
    )
