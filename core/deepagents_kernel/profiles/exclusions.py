"""The entries of ``excluded_middleware``: what may stand there, how it is exported, how it is taken back."""

from __future__ import annotations

from collections.abc import Iterable

from deepagents_kernel import _builtin
from deepagents_kernel.errors import ProfileError, ProfileTypeError


def iterated(value: object, where: str) -> list[object]:
    """The elements of a set-like field.

    Args:
        value: a set, list, tuple or other iterable.
        where: name of the field, for the error text.

    Raises:
        ProfileTypeError: not such an iterable. A plain string is refused too: taken apart it would
            be a set of letters, left whole a test for substrings.
    """
    if isinstance(value, (str, bytes)):
        raise ProfileTypeError(
            f"{where}: expected a set of names, got the string {value!r}\n  write [{value!r}]"
        )
    if isinstance(value, dict) or not isinstance(value, Iterable):
        raise ProfileTypeError(f"{where}: expected a set or list, got {type(value).__name__}")
    return list(value)


def string_set(value: object, where: str) -> frozenset[str]:
    """*value* as a set of strings.

    Args:
        value: a set, list, tuple or other iterable.
        where: name of the field, for the error text.

    Raises:
        ProfileTypeError: not such an iterable, or an element is not a string.
    """
    names: set[str] = set()
    wrong: list[str] = []
    for item in iterated(value, where):
        if isinstance(item, str):
            names.add(item)
        else:
            wrong.append(shown(item))
    if wrong:
        raise ProfileTypeError(f"{where}: expected strings, got {', '.join(sorted(wrong))}")
    return frozenset(names)


def middleware_set(value: object, where: str) -> frozenset[type | str]:
    """*value* as a set of middleware names and classes.

    Args:
        value: a set, list, tuple or other iterable.
        where: name of the field, for the error text.

    Raises:
        ProfileTypeError: not such an iterable, or an element is neither a string nor a class.
    """
    entries: set[type | str] = set()
    wrong: list[str] = []
    for item in iterated(value, where):
        if isinstance(item, (str, type)):
            entries.add(item)
        else:
            wrong.append(shown(item))
    if wrong:
        raise ProfileTypeError(
            f"{where}: expected middleware names or classes, got {', '.join(sorted(wrong))}"
        )
    return frozenset(entries)


def check_grammar(entries: Iterable[type | str], where: str) -> None:
    """Refuse names that can never match a public middleware.

    Args:
        entries: names and classes.
        where: name of the field, for the error text.

    Raises:
        ProfileError: with every fault found, sorted.
    """
    _report(
        where,
        [f"{entry!r}: {fault}" for entry in entries if isinstance(entry, str) and (fault := _fault(entry))],
    )


def check_tool_names(names: Iterable[str], where: str) -> None:
    """Refuse names that no tool can have.

    Args:
        names: names of tools.
        where: name of the field, for the error text.

    Raises:
        ProfileError: with every fault found, sorted.
    """
    _report(where, [f"{name!r}: {fault}" for name in names if (fault := blank_fault(name))])


def check_exclusions(entries: Iterable[type | str], where: str) -> None:
    """Refuse malformed names, and the scaffolding in either form.

    Args:
        entries: names and classes.
        where: name of the field, for the error text.

    Raises:
        ProfileError: with every fault found, sorted.
    """
    required = _builtin.scaffolding_names()
    faults = []
    for entry in entries:
        label = f"{entry!r} (string form)" if isinstance(entry, str) else repr(entry.__name__)
        if not required.isdisjoint(_known_as(entry)):
            faults.append(f"{label}: {_REQUIRED}")
        elif isinstance(entry, str) and (fault := _fault(entry)):
            faults.append(f"{label}: {fault}")
    _report(where, faults)


def _known_as(entry: type | str) -> set[str]:
    # A subclass under another class name that keeps the `.name` fills the same place in a stack.
    return (
        {entry} if isinstance(entry, str) else {entry.__name__, _static_name(entry) or "", known_name(entry)}
    )


_REQUIRED = (
    "every agent needs it (it enforces permissions or carries the sub-agents); "
    "hide its tools with excluded_tools instead"
)


def blank_fault(name: str) -> str:
    """What is wrong with the blanks in a name, or an empty string."""
    if not name.strip():
        return "an empty name matches nothing"
    if name != name.strip():
        return f"has blanks around it, so it matches nothing; write {name.strip()!r}"
    return ""


def _fault(name: str) -> str:
    if fault := blank_fault(name):
        return fault
    if ":" in name:
        return "class paths are not supported; give the middleware's name, or the class itself"
    if name.startswith("_"):
        return "names with a leading underscore are private; give the class itself"
    return ""


def _report(where: str, faults: list[str]) -> None:
    if faults:
        count = "1 entry" if len(faults) == 1 else f"{len(faults)} entries"
        raise ProfileError("\n  ".join([f"{where}: {count} can't be used", *sorted(faults)]))


def take_back(excluded: Iterable[type | str], restored: Iterable[type | str]) -> frozenset[type | str]:
    """*excluded* without what *restored* takes back.

    Two strings or two classes meet when they are equal; a string and a class, when the string is the name
    that the class goes by in a profile.
    """
    again = tuple(restored)
    return frozenset(entry for entry in excluded if not any(_same(entry, other) for other in again))


def _same(entry: type | str, other: type | str) -> bool:
    if isinstance(entry, str) is isinstance(other, str):
        return entry == other
    return known_name(entry) == known_name(other)


def known_name(entry: type | str) -> str:
    """The name that an entry goes by in a profile."""
    return entry if isinstance(entry, str) else str(getattr(entry, "serialized_name", entry.__name__))


def exported_names(entries: Iterable[type | str], where: str) -> frozenset[str]:
    """The entries as strings: names as they are, classes by their ``serialized_name``.

    Args:
        entries: names and classes.
        where: name of the field, for the error text.

    Raises:
        ProfileError: a class declares no alias, or one under which it would no longer be found.
    """
    names: set[str] = set()
    faults: list[str] = []
    for entry in entries:
        alias = entry if isinstance(entry, str) else getattr(entry, "serialized_name", None)
        fault = "" if isinstance(entry, str) else _alias_fault(entry, alias)
        if fault:
            faults.append(f"class {shown(entry)}: {fault}")
        else:
            names.add(str(alias))
    _report(where, faults)
    return frozenset(names)


def _alias_fault(cls: type, alias: object) -> str:
    if not isinstance(alias, str) or not alias:
        return (
            "has no serialized_name, so it can't be written down; exclude it by name, "
            "or declare `serialized_name: ClassVar[str]` on the class, equal to its .name"
        )
    name = _static_name(cls)
    if name is not None and name != alias:
        return f"its serialized_name {alias!r} is not its .name {name!r}: exported, it would match nothing"
    return ""


def _static_name(cls: type) -> str | None:
    """The ``.name`` of instances, where the class alone tells it."""
    owner = next((base for base in cls.__mro__ if "name" in vars(base)), None)
    if owner is None:
        return None
    declared = vars(owner)["name"]
    if isinstance(declared, str):
        return declared
    # The host's own property answers with the name of the class; any other may answer anything.
    host = owner.__name__ == "AgentMiddleware" and owner.__module__.startswith("langchain.")
    return cls.__name__ if host else None


def shown(item: object) -> str:
    """An entry as an error text shows it: a class by its path, all else by its repr."""
    return f"{item.__module__}.{item.__qualname__}" if isinstance(item, type) else repr(item)
