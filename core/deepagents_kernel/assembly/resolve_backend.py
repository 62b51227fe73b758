"""Turn what a user writes for a backend into one: ``state``, ``filesystem:./work?max_file_size_mb=20``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

from attrs import frozen

from deepagents_kernel.contracts.backend_spec import BackendSpec
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


@frozen
class BackendAddress:
    """A backend string, taken apart.

    Attributes:
        text: as the user wrote it.
        scheme: the part before the first colon, or all of it.
        path: the part behind the colon.
        options: what follows a question mark.
    """

    text: str
    scheme: str
    path: str
    options: Mapping[str, str]


def parse_backend(text: str) -> BackendAddress:
    """Take a backend string apart.

    Raises:
        BackendSpecError: it is empty, names a table of a configuration file, or has an option twice.
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
    if len(options) != len(pairs):
        raise BackendSpecError(text, "an option is given twice")
    return BackendAddress(text, scheme.strip(), path, options)


def backend_table(contributions: Iterable[Contribution]) -> dict[str, tuple[str, BackendSpec]]:
    """Scheme to the plugin that offers it and its spec.

    Raises:
        PluginError: two plugins offer one scheme.
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
                raise PluginError(
                    item.plugin,
                    f"backend scheme {scheme!r} is offered by {other[0]} too",
                    "disable one of them",
                )
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
            option = error.key.rpartition(".")[2]
            raise BackendSpecError(address.text, f"option {option!r}: {error.reason}", error.hint) from error
    backend = spec.factory(address.path, options)
    return checked_backend(backend, f"the factory of backend {spec.name} (plugin {plugin})")


def unknown_scheme(address: BackendAddress, schemes: Iterable[str]) -> BackendSpecError:
    """The error for a scheme that nobody offers."""
    known = sorted(schemes)
    hint = nearest_hint(address.scheme, known)
    listed = f"backends: {', '.join(known)}"
    return BackendSpecError(
        address.text, f"no backend named {address.scheme!r}", f"{hint}\n  {listed}" if hint else listed
    )


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
