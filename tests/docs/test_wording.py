"""Rules of the sources that no linter knows: what they may name, how long they may be, what explains them."""

import ast
import re
from pathlib import Path

import pytest
from pages import ROOT, sources

from deepagents_kernel._builtin import load_table

FOLDERS = ("core", "plugins_builtin", "contrib", "docs", "tests", "examples", ".ci")
BINARY = {".png", ".pdf", ".pyc"}
CACHES = {"__pycache__", ".mypy_cache", ".pytest_cache", ".ruff_cache"}

# The project speaks of itself: not of a machine on which it was written, nor of those who did.
FOREIGN = {
    "a path of one machine": r"(?<![\w.~:/\\])/(?:work|root|Users|tmp)/\w|\.\./shared\b",
    "who wrote it": r"\b(?:the|your|our) (?:lead|brief)\b|\bother helpers\b|\bhelper (?:session|process)",
    "how it was written": r"\b(?:this|my|our|a writing|a coding) session\b|\bworkplace\b",
    "an issue by number": r"\bissues? ?#\d|\bissues/\d|(?<![\w&/])#\d{2,}\b|\bPR ?#?\d+",
    "a writing tool": r"\bstr_replace\b|\bclaude[ -]code\b|\bcopilot\b|\bchatgpt\b(?![\"`])",
    "a leftover": r"\b(?-i:TODO|FIXME|XXX)\b",
}


def files():
    """Every text file of the project but this one."""
    inside = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    for path in sorted([*ROOT.glob("*"), ROOT / ".importlinter", ROOT / ".gitignore", *inside]):
        if path.is_file() and not CACHES.intersection(path.parts) and path.suffix not in BINARY:
            yield path


@pytest.mark.parametrize("what", FOREIGN)
def test_the_project_speaks_of_itself_alone(what):
    pattern = re.compile(FOREIGN[what], re.IGNORECASE)
    found = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()[:100]}"
        for path in files()
        if path != Path(__file__)
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if pattern.search(line)
    ]
    assert found == []


def docstrings(tree):
    """The constants that are docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    for node in ast.walk(tree):
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr):
            yield node.body[0].value


def test_the_kernel_names_no_plugin():
    plugins = set(load_table().plugins) | set(load_table().features.values())
    found = []
    for path in (ROOT / "core").rglob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        explained = {id(node) for node in docstrings(tree)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in explained:
                named = [
                    name
                    for name in plugins
                    if re.search(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", node.value)
                ]
                found += [(str(path.relative_to(ROOT)), node.lineno, name) for name in named]
    assert [item for item in found if not item[0].endswith("/_builtin.py")] == []


def test_every_module_says_what_it_is():
    silent = [
        path for path in sources() if not ast.get_docstring(ast.parse(path.read_text(encoding="utf-8")))
    ]
    assert silent == []


def test_no_module_is_long():
    lengths = {str(path.relative_to(ROOT)): len(path.read_text("utf-8").splitlines()) for path in sources()}
    assert {path: lines for path, lines in lengths.items() if lines > 400} == {}


def test_nothing_but_the_command_prints():
    printing = []
    for path in sources():
        if "cli" not in path.relative_to(ROOT).parts:
            calls = [
                node for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Call)
            ]
            names = [node.func.id for node in calls if isinstance(node.func, ast.Name)]
            printing += [path] if "print" in names else []
    assert printing == []
