"""docs/errors.md has every error class, with its bases and its fields."""

import importlib
import inspect
import pkgutil
import re

import attrs
import pytest
from pages import code, read, rows, section

import deepagents_builtin
import deepagents_kernel
from deepagents_kernel import errors
from deepagents_kernel.errors import DeepAgentsError, Problem

# Caught where they are raised; no caller meets them.
INTERNAL = {"OutsideRootError", "BinaryContentError"}


def everywhere():
    """Every subclass of the root that one of the two packages defines, outside of the module of errors."""
    for package in (deepagents_kernel, deepagents_builtin):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not module.name.endswith("__main__"):
                importlib.import_module(module.name)
    return {
        cls
        for cls in descendants(DeepAgentsError)
        if cls.__module__.startswith(("deepagents_kernel.", "deepagents_builtin."))
        and cls.__module__ != errors.__name__
        and cls.__name__ not in INTERNAL
    }


def descendants(cls):
    for child in cls.__subclasses__():
        yield child
        yield from descendants(child)


def attributes(cls):
    """Fields by the docstrings of the class and of its bases, the base's first."""
    own = [base.__doc__ or "" for base in reversed(cls.__mro__) if issubclass(base, DeepAgentsError)]
    listed = [inspect.cleandoc(text).partition("Attributes:\n")[2] for text in own]
    return [name for text in listed for name in re.findall(r"^    (\w+): ", text, re.MULTILINE)]


def cells(cell):
    return re.findall(r"`([^`]+)`", cell)


def check(row, cls):
    _, bases, fields, when = row
    assert cells(bases) == [base.__name__ for base in cls.__bases__]
    assert cells(fields) == attributes(cls)
    assert when.endswith(".")


MAIN = rows(section(read("docs/errors.md"), "## `deepagents_kernel.errors`").partition("### ")[0])
OTHERS = rows(section(read("docs/errors.md"), "## Elsewhere"))


def test_exactly_the_classes_of_the_module_in_its_order():
    classes = {name: value for name, value in vars(errors).items() if isinstance(value, type)}
    defined = [name for name, value in classes.items() if issubclass(value, Exception)]
    assert [code(row[0]) for row in MAIN] == defined


@pytest.mark.parametrize("row", MAIN, ids=lambda row: code(row[0]))
def test_bases_and_fields(row):
    check(row, getattr(errors, code(row[0])))


@pytest.mark.parametrize("row", OTHERS, ids=lambda row: code(row[0]))
def test_bases_and_fields_elsewhere(row):
    module, _, name = code(row[0]).rpartition(".")
    check(row, getattr(importlib.import_module(module), name))


def test_exactly_the_classes_elsewhere():
    shown = set()
    for row in OTHERS:
        module, _, name = code(row[0]).rpartition(".")
        shown.add(getattr(importlib.import_module(module), name))
    assert shown == everywhere()


def test_the_fields_of_a_problem():
    table = rows(section(read("docs/errors.md"), "### `Problem`"))
    assert [code(row[0]) for row in table] == [field.name for field in attrs.fields(Problem)]
