"""How a backend is offered by name: ``BackendSpec``, and the strings that users write."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from attrs import Attribute, field, frozen, validators

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from deepagents_kernel.contracts.backend import BackendProtocol


def _schemes(value: Iterable[str] | str) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _named(_instance: object, attribute: Attribute[str], value: object) -> None:
    if not isinstance(value, str) or not value:
        msg = f"{attribute.name} must be a name, not {value!r}"
        raise TypeError(msg)


def quote_path(path: str) -> str:
    """*path* as it is written in a backend string, where ``?`` begins options and ``%`` a code."""
    return path.replace("%", "%25").replace("?", "%3F")


@frozen
class BackendSpec:
    """A backend that can be named in a string such as ``filesystem:./work?max_file_size_mb=20``.

    Attributes:
        name: plain name, also accepted as a scheme.
        factory: called with the part behind the colon, percent-decoded (an empty string without one), and the
            options.
        schemes: further schemes that lead here.
        options: an attrs class with a default for each field, built from ``?key=value``; ``None`` means that
            the backend takes no options.
        summary: one line for listings.
    """

    name: str = field(validator=_named)
    factory: Callable[[str, Any], BackendProtocol] = field(validator=validators.is_callable())
    schemes: tuple[str, ...] = field(default=(), converter=_schemes, kw_only=True)
    options: type[Any] | None = field(default=None, kw_only=True)
    summary: str = field(default="", kw_only=True)
