"""Write docs/hooks.md from the hook specifications of the kernel and of the built-in plugins.

``python docs/generate_hooks.py`` rewrites the page; with ``--check`` it only compares, and the exit code is 1
if the page is not what would be written.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from attrs import field, frozen

from deepagents_kernel import hookspecs
from deepagents_kernel._builtin import load_table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping
    from types import ModuleType

PAGE = Path(__file__).parent / "hooks.md"
WIDTH = 118

_BANNER = re.compile(r"^# -{20,}\n# (.+)\n# -{20,}$", re.MULTILINE)
_FIELD = re.compile(r"^:(param|returns|raises) ?(\w*): ?(.*)$")
_ROLE = re.compile(r":\w+:`([^`]+)`")
_DOORS = ("deepagents_kernel", "deepagents_kernel.backends", "deepagents_kernel.profiles")


@frozen
class Documented:
    """The parts of a specification's docstring.

    Attributes:
        text: what stands before the fields.
        params: argument to its description.
        returns: what is returned.
        raises: exception to when it is raised.
        kind: what stands behind ``Kind:``.
    """

    text: str = ""
    params: dict[str, str] = field(factory=dict)
    returns: str = ""
    raises: dict[str, str] = field(factory=dict)
    kind: str = ""


class _Declarations:
    """Stands where a plugin expects the plugin manager, and keeps what it declares."""

    def __init__(self) -> None:
        self.modules: list[ModuleType] = []

    def add_hookspecs(self, module: ModuleType) -> None:
        """Take a declaration down."""
        self.modules.append(module)


def specifications(module: ModuleType) -> dict[str, Callable[..., Any]]:
    """Hook name to the function that specifies it, in the order of the source."""
    marker = f"{hookspecs.PROJECT}_spec"
    found = {name: value for name, value in vars(module).items() if hasattr(value, marker)}
    return dict(sorted(found.items(), key=lambda item: item[1].__code__.co_firstlineno))


def plugin_modules() -> Iterator[tuple[str, ModuleType]]:
    """Each built-in plugin that declares hooks, with the module in which it does."""
    for name, where in load_table().plugins.items():
        declare = getattr(importlib.import_module(where.partition(":")[0]), "deepagents_addhooks", None)
        if declare is not None:
            declarations = _Declarations()
            declare(pluginmanager=declarations)
            for module in declarations.modules:
                yield name, module


def signature(function: Callable[..., Any]) -> str:
    """``name(argument: type, ...) -> type``, as it is written in the source."""
    found = inspect.signature(function)
    arguments = ", ".join(f"{name}: {item.annotation}" for name, item in found.parameters.items())
    line = f"{function.__name__}({arguments}) -> {found.return_annotation}"
    if len(line) <= WIDTH:
        return line
    rows = "".join(f"    {name}: {item.annotation},\n" for name, item in found.parameters.items())
    return f"{function.__name__}(\n{rows}) -> {found.return_annotation}"


def documented(function: Callable[..., Any]) -> Documented:
    """A docstring by the template: text, ``:param``, ``:returns:``, ``:raises``, ``Kind:``."""
    text: list[str] = []
    params: dict[str, str] = {}
    raises: dict[str, str] = {}
    single = {"returns": "", "Kind": ""}
    target: tuple[dict[str, str], str] | None = None
    for line in (inspect.getdoc(function) or "").splitlines():
        match = _FIELD.match(line)
        if match:
            what, name, rest = match.groups()
            target = {"param": (params, name), "raises": (raises, name)}.get(what, (single, "returns"))
        elif line.startswith("Kind:"):
            target, rest = (single, "Kind"), line.removeprefix("Kind:")
        elif target is None:
            text.append(line)
            continue
        else:
            rest = line
        store, key = target
        store[key] = f"{store.get(key, '')} {rest.strip()}".strip()
    return Documented("\n".join(text).strip(), params, single["returns"], raises, single["Kind"])


def _markdown(text: str) -> str:
    return _ROLE.sub(r"`\1`", text).replace("``", "`")


def _item(text: str) -> str:
    return textwrap.fill(
        _markdown(text),
        WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_on_hyphens=False,
        break_long_words=False,
    )


def _paragraphs(text: str) -> str:
    return "\n\n".join(
        part if part.startswith("*") else textwrap.fill(part, WIDTH, break_on_hyphens=False)
        for part in _markdown(text).split("\n\n")
    )


def _hook(function: Callable[..., Any]) -> str:
    about = documented(function)
    types = {name: item.annotation for name, item in inspect.signature(function).parameters.items()}
    items = [f"`{name}` (`{types.get(name, '?')}`): {text}" for name, text in about.params.items()]
    items += [f"returns {about.returns}"]
    items += [f"raises `{name}`: {text}" for name, text in about.raises.items()]
    items += [f"kind: {about.kind}"]
    lines = "\n".join(_item(item) for item in items)
    head = f"### `{function.__name__}`\n\n```text\n{signature(function)}\n```"
    return f"{head}\n\n{_paragraphs(about.text)}\n\n{lines}"


def _phases(module: ModuleType) -> Iterator[tuple[str, list[Callable[..., Any]]]]:
    """Heading of each banner in the source, with the hooks below it."""
    source = inspect.getsource(module)
    starts = [(source.count("\n", 0, match.start()) + 1, match[1]) for match in _BANNER.finditer(source)]
    functions = list(specifications(module).values())
    for (start, heading), (end, _) in zip(starts, [*starts[1:], (sys.maxsize, "")], strict=True):
        yield heading, [item for item in functions if start < item.__code__.co_firstlineno < end]


def _imports(module: ModuleType) -> Mapping[str, str]:
    """Name to the module that it is imported from, those for type checking included."""
    return {
        alias.asname or alias.name: node.module
        for node in ast.walk(ast.parse(inspect.getsource(module)))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }


def _types(modules: list[ModuleType]) -> Iterator[str]:
    origins = {name: where for module in modules for name, where in _imports(module).items()}
    signatures = " ".join(signature(item) for module in modules for item in specifications(module).values())
    for name in sorted(set(re.findall(r"\b[A-Z]\w+", signatures)) & set(origins)):
        if origins[name].startswith("deepagents_kernel"):
            doors = [door for door in _DOORS if name in dir(importlib.import_module(door))]
            yield f"- `{name}`: `{(doors or [origins[name]])[0]}`"


def page() -> str:
    """The page as it should be."""
    declared = list(plugin_modules())
    modules = [hookspecs, *(module for _, module in declared)]
    count = sum(len(specifications(module)) for module in modules)
    parts = [
        "# Hooks",
        "<!-- Written by docs/generate_hooks.py from the hook specifications; change those. -->",
        _paragraphs(inspect.getdoc(hookspecs) or ""),
        f"How to write a plugin: [plugins.md](plugins.md). There are {count} hooks.",
    ]
    for heading, functions in _phases(hookspecs):
        parts += [f"## {heading[0].upper()}{heading[1:]}", *map(_hook, functions)]
    for name, module in declared:
        parts += [f"## Declared by `{name}`", *map(_hook, specifications(module).values())]
    parts += ["## Where the types are", "\n".join(_types(modules))]
    return "\n\n".join(parts) + "\n"


def main(arguments: list[str]) -> int:
    """Write the page, or compare it; returns the exit code."""
    expected = page()
    if arguments == ["--check"]:
        current = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
        if current != expected:
            sys.stderr.write(f"{PAGE} is stale; run: python docs/generate_hooks.py\n")
        return int(current != expected)
    if arguments:
        sys.stderr.write(f"{__doc__}\n")
        return 2
    PAGE.write_text(expected, encoding="utf-8")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
