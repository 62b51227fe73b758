"""Read the project's own pages: tables, code blocks, behaviour lines; and the tags of its tests."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = (ROOT / "core", ROOT / "plugins_builtin")

_BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_STATEMENT = re.compile(r"^- \*\*([A-Z]+-[0-9]+)\*\*", re.MULTILINE)


def read(path: str) -> str:
    """The text of a page, by its path in the project."""
    return (ROOT / path).read_text(encoding="utf-8")


def sources() -> list[Path]:
    """Every module of the two packages."""
    return sorted(path for package in PACKAGES for path in package.rglob("*.py"))


def code_blocks(text: str, language: str) -> Iterator[tuple[int, str]]:
    """Line number and text of each fenced block in a language."""
    for match in _BLOCK.finditer(text):
        if match[1] == language:
            yield text.count("\n", 0, match.start(2)) + 1, match[2]


def section(text: str, heading: str) -> str:
    """What stands below a heading, up to the next one of its level or above."""
    level = len(heading) - len(heading.lstrip("#"))
    _, _, rest = f"\n{text}".partition(f"\n{heading}\n")
    assert rest, f"no heading {heading!r}"
    return re.split(rf"\n#{{1,{level}}} ", rest)[0]


def rows(text: str) -> list[list[str]]:
    """The cells of every table row in a text, headers left out."""
    found = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        header = number + 1 < len(lines) and lines[number + 1].startswith("| ---")
        if line.startswith("| ") and not line.startswith("| ---") and not header:
            cells = re.split(r"(?<!\\)\|", line.strip().strip("|"))
            found.append([cell.strip().replace("\\|", "|") for cell in cells])
    return found


def code(cell: str) -> str:
    """What stands in the code span that a cell begins with; an empty string without one."""
    match = re.match(r"`([^`]*)`", cell)
    return match[1] if match else ""


def statements() -> list[tuple[str, str]]:
    """Statement ID and page, for every line of ``docs/behaviour`` that begins with an ID."""
    pages = sorted((ROOT / "docs/behaviour").glob("*.md"))
    return [(found, page.name) for page in pages for found in _STATEMENT.findall(page.read_text("utf-8"))]


def spec_tags() -> dict[str, list[str]]:
    """For each test: the IDs of its ``spec`` marks, those of its module, its class and its parameters too."""
    found: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("*.py")):
        module = ast.parse(path.read_text(encoding="utf-8"))
        _collect(module, f"{path.relative_to(ROOT)}", _assigned(module), found)
    return found


def _collect(scope: ast.AST, where: str, outer: list[str], found: dict[str, list[str]]) -> None:
    for node in ast.iter_child_nodes(scope):
        if isinstance(node, ast.ClassDef):
            own = [*outer, *_marks(*node.decorator_list), *_assigned(node)]
            _collect(node, f"{where}::{node.name}", own, found)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            marks = [*outer, *_marks(*node.decorator_list)]
            if marks:
                found[f"{where}::{node.name}"] = marks


def _assigned(scope: ast.Module | ast.ClassDef) -> list[str]:
    values = [node.value for node in scope.body if isinstance(node, ast.Assign) and _is_pytestmark(node)]
    return _marks(*values)


def _is_pytestmark(node: ast.Assign) -> bool:
    return any(isinstance(target, ast.Name) and target.id == "pytestmark" for target in node.targets)


def _marks(*nodes: ast.AST) -> list[str]:
    calls = [call for node in nodes for call in ast.walk(node) if isinstance(call, ast.Call)]
    marks = [call for call in calls if ast.unparse(call.func).endswith("mark.spec")]
    assert all(isinstance(item, ast.Constant) for call in marks for item in call.args), "IDs are literals"
    return list(dict.fromkeys(item.value for call in marks for item in call.args))
