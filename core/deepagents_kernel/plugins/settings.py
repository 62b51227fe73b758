"""Settings of plugins: validated by the attrs class that each plugin declares."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import evolve, fields, has, resolve_types

from deepagents_kernel.errors import SettingsError, nearest_hint
from deepagents_kernel.plugins.values import make_converter

if TYPE_CHECKING:
    from deepagents_kernel.plugins.info import PluginRecord

Values = Mapping[str, Any]

#: Where a value was written: one place for all, or a function from the parts of its key to the place.
Place = str | Callable[..., str]


def place_of(source: Place, *key: str) -> str:
    """Where the value under *key* was written."""
    return source if isinstance(source, str) else source(*key)


def settings_classes(
    records: Iterable[PluginRecord], kernel: type[Any] | None = None
) -> dict[str, type[Any]]:
    """Plugin name to settings class, for the plugins that declare one; ``kernel`` is the kernel's own."""
    found: dict[str, type[Any]] = {} if kernel is None else {"kernel": kernel}
    for record in records:
        if record.info.settings is not None:
            found[record.name] = record.info.settings
    return found


def apply_settings(
    base: Mapping[type, Any],
    values: Values | None,
    *,
    classes: Mapping[str, type[Any]],
    known: Iterable[str],
    source: Place,
    passive: Collection[str] = (),
) -> dict[type, Any]:
    """Settings objects with *values* laid over *base*.

    Args:
        base: settings class to object, from outer sources.
        values: plugin name to a mapping of keys, or to a ready settings object.
        classes: plugin name to settings class.
        known: every plugin name, for the nearest one in an error.
        source: where the values came from, for an error.
        passive: plugins that are off: their values are kept for later and not looked at.

    Raises:
        SettingsError: unknown plugin, unknown key, or a value that the class refuses.
    """
    result = dict(base)
    if values is None:
        return result
    if not isinstance(values, Mapping):
        raise SettingsError(
            "settings",
            place_of(source),
            f"expected plugin names with their settings, got {type(values).__name__}",
        )
    for name, given in values.items():
        if name in passive:
            continue
        cls = _settings_class(name, classes, known, source)
        result[cls] = _structured(name, cls, given, result.get(cls), source)
    return result


def _settings_class(
    name: str, classes: Mapping[str, type[Any]], known: Iterable[str], source: Place
) -> type[Any]:
    if name in classes:
        return classes[name]
    names = [*known, "kernel"]
    if name in names:
        raise SettingsError(str(name), place_of(source, name), "this plugin has no settings")
    hint = nearest_hint(str(name), names) or f"plugins with settings: {', '.join(sorted(classes))}"
    raise SettingsError(str(name), place_of(source, str(name)), "no plugin of that name", hint)


def _structured(name: str, cls: type[Any], given: Any, base: Any, source: Place) -> Any:
    if isinstance(given, cls):
        return given
    if not isinstance(given, Mapping):
        reason = f"expected a mapping or a {cls.__name__}, got {type(given).__name__}"
        raise SettingsError(name, place_of(source, name), reason)
    return structure(cls, given, name, source, base)


def structure(cls: type[Any], given: Mapping[str, Any], name: str, source: Place, base: Any = None) -> Any:
    """An object of *cls* from plain values, over *base*; errors name the full path of the key.

    Raises:
        SettingsError: unknown key, or a value that the class refuses.
    """
    if not has(cls):
        raise SettingsError(name, place_of(source, name), f"{cls.__name__} is not an attrs class")
    resolve_types(cls)
    attributes = {attribute.alias: attribute for attribute in fields(cls) if attribute.init}
    converter = make_converter(lambda kind, values: structure(kind, values, "", ""))
    converted: dict[str, Any] = {}
    for key, value in given.items():
        if key not in attributes:
            hint = nearest_hint(str(key), attributes) or f"keys: {', '.join(attributes) or 'none'}"
            raise SettingsError(_path(name, key), place_of(source, name, str(key)), "no such setting", hint)
        place = functools.partial(place_of, source, name, str(key))
        try:
            converted[key] = _convert(converter, value, attributes[key].type)
        except SettingsError as error:
            raise SettingsError(_path(name, key, error.key), place(), error.reason, error.hint) from error
        except Exception as error:
            raise _bad_value(_path(name, key), place(), value, error) from error
    return _built(cls, converted, name, source, base)


def _built(cls: type[Any], converted: Mapping[str, Any], name: str, source: Place, base: Any) -> Any:
    def build(values: Mapping[str, Any]) -> Any:
        return cls(**values) if base is None else evolve(base, **values)

    try:
        return build(converted)
    except Exception as error:
        # The class looks at all values together; which one it refuses shows when each is tried alone.
        for key, value in converted.items():
            try:
                build({key: value})
            except Exception as alone:
                raise _bad_value(_path(name, key), place_of(source, name, key), value, alone) from alone
        raise SettingsError(
            name, place_of(source, name), f"these values don't go together: {_reason(error)}"
        ) from error


def _path(*parts: Any) -> str:
    return ".".join(str(part) for part in parts if part)


def _bad_value(key: str, source: str, value: Any, error: Exception) -> SettingsError:
    return SettingsError(key, source, f"bad value {value!r}: {_reason(error)}")


def _convert(converter: Any, value: Any, kind: Any) -> Any:
    return value if kind is None or isinstance(kind, str) else converter.structure(value, kind)


def _reason(error: BaseException) -> str:
    nested = getattr(error, "exceptions", None)
    if nested:
        return "; ".join(_reason(item) for item in nested)
    text = str(error.args[0]) if error.args else str(error)
    return text or type(error).__name__
