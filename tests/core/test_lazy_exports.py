"""Doors: names that are imported when they are first used, and helpful errors for those that aren't there."""

import subprocess
import sys
import types

import pytest

from deepagents_kernel import _builtin, middleware
from deepagents_kernel._lazy import lazy_exports
from deepagents_kernel.errors import BrokenExportError, MissingExportError


@pytest.fixture
def door(monkeypatch):
    module = types.ModuleType("a_door")
    monkeypatch.setitem(sys.modules, "a_door", module)
    reads = []

    def exports():
        reads.append(1)
        return {"sqrt": "math:sqrt", "Gone": "math:gone", "Nowhere": "no_such_module_at_all:x"}

    module.__getattr__, module.__dir__ = lazy_exports(
        "a_door", exports=exports, absent=lambda: {"SkillsMiddleware": "middleware.skills"}
    )
    module.reads = reads
    return module


def test_a_name_is_resolved_once(door):
    assert door.sqrt(9) == 3
    assert "sqrt" in vars(door)
    door.reads.clear()
    assert door.sqrt(16) == 4
    assert door.reads == []


def test_the_names_of_a_door(door):
    assert door.__all__ == ["Gone", "Nowhere", "sqrt"]
    assert {"sqrt", "Gone"} <= set(dir(door))


def test_an_absent_name_names_its_plugin(door):
    with pytest.raises(
        AttributeError, match=r"has no attribute 'SkillsMiddleware'\n.*'middleware.skills'"
    ) as caught:
        door.SkillsMiddleware  # noqa: B018 - the access is the test
    assert (caught.value.module, caught.value.name) == ("a_door", "SkillsMiddleware")
    assert caught.value.plugin == "middleware.skills"


def test_a_misspelt_name_gets_the_nearest(door):
    with pytest.raises(MissingExportError, match="nearest: sqrt"):
        door.sqrtt  # noqa: B018 - the access is the test
    assert not hasattr(door, "sqrtt")


def test_probing_for_dunder_names_reads_no_table(door):
    assert not hasattr(door, "__wrapped__")
    assert door.reads == []


def test_a_broken_entry_is_an_import_error_that_says_what_broke(door):
    with pytest.raises(BrokenExportError, match=r"a_door.Gone should be math:gone") as caught:
        door.Gone  # noqa: B018 - the access is the test
    assert caught.value.target == "math:gone"
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        door.Nowhere  # noqa: B018 - the access is the test


@pytest.mark.parametrize("name", ["FilesystemPermission", "SubAgent", "CompiledSubAgent", "AsyncSubAgent"])
def test_types_of_the_contract_come_through_the_middleware_door(name):
    assert getattr(middleware, name).__name__ == name
    assert name in middleware.__all__


def test_the_middleware_door_follows_the_table_of_the_built_ins():
    table = _builtin.load_table()
    assert set(table.middleware_exports) <= set(middleware.__all__)
    for name, plugin in table.absent.items():
        if plugin.startswith("middleware."):
            with pytest.raises(AttributeError, match=plugin):
                getattr(middleware, name)


def test_permissions_have_a_module_of_their_own():
    from deepagents_kernel.middleware.permissions import FilesystemPermission

    assert FilesystemPermission is middleware.FilesystemPermission


def test_the_door_itself_imports_no_langchain():
    code = "import sys, deepagents_kernel.middleware as m; m.__all__; print('langchain' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, encoding="utf-8", timeout=60, check=True
    )
    assert done.stdout == "False\n"
