"""Distributions that tests describe: checked, and written as wheels and source trees."""

import base64
import csv
import email
import hashlib
import importlib.metadata
import io
import sys
import tomllib
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from deepagents_kernel.testing import Distribution, DistributionError, write_source, write_wheel

AUDIT = Distribution(
    "Deepagents.Audit-Log",
    version="1.2rc1",
    modules={
        "audit/__init__.py": "NAME = 'Prüfung'\n",
        "audit/a, b.txt": "one\r\ntwo\n",
        "audit_extra.py": "",
    },
    entry_points={
        "deepagents.plugins": {"middleware.audit": "audit", "backend.audit": "audit.backend:PLUGIN"},
        "console_scripts": {"audit": "audit:main"},
    },
    requires=["deepagents-kernel>=0.1,<2", 'attrs; python_version > "3.8"'],
)


@pytest.fixture
def wheel(tmp_path):
    return write_wheel(tmp_path / "wheels", AUDIT)


def test_the_name_of_a_wheel(wheel):
    assert wheel.name == "deepagents_audit_log-1.2rc1-py3-none-any.whl"


def test_what_importlib_reads_from_it(wheel):
    (found,) = importlib.metadata.distributions(path=[str(wheel)])
    assert (found.name, found.version) == ("Deepagents.Audit-Log", "1.2rc1")
    assert found.requires == list(AUDIT.requires)
    assert {(point.group, point.name, point.value) for point in found.entry_points} == {
        ("deepagents.plugins", "middleware.audit", "audit"),
        ("deepagents.plugins", "backend.audit", "audit.backend:PLUGIN"),
        ("console_scripts", "audit", "audit:main"),
    }
    assert found.metadata["Metadata-Version"] == "2.1"


def test_the_files_are_in_it_byte_for_byte(wheel):
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        for path, text in AUDIT.modules.items():
            assert archive.read(path) == text.encode("utf-8")
        tags = email.message_from_bytes(archive.read("deepagents_audit_log-1.2rc1.dist-info/WHEEL"))
    assert (tags["Wheel-Version"], tags["Root-Is-Purelib"], tags["Tag"]) == ("1.0", "true", "py3-none-any")


def test_the_record_has_every_file_with_its_hash(wheel):
    record = "deepagents_audit_log-1.2rc1.dist-info/RECORD"
    with zipfile.ZipFile(wheel) as archive:
        rows = {row[0]: row[1:] for row in csv.reader(io.StringIO(archive.read(record).decode("utf-8")))}
        assert sorted(rows) == sorted(archive.namelist())
        assert rows.pop(record) == ["", ""]
        for path, (digest, size) in rows.items():
            content = archive.read(path)
            encoded = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).decode("ascii")
            assert digest == f"sha256={encoded.rstrip('=')}"
            assert int(size) == len(content)


def test_the_same_distribution_is_the_same_wheel(wheel, tmp_path):
    backwards = Distribution(
        AUDIT.name,
        AUDIT.version,
        dict(reversed(AUDIT.modules.items())),
        AUDIT.entry_points,
        AUDIT.requires,
    )
    assert write_wheel(tmp_path / "again", backwards).read_bytes() == wheel.read_bytes()


def test_a_wheel_without_entry_points_has_no_file_for_them(tmp_path):
    bare = Distribution("bare")
    with zipfile.ZipFile(write_wheel(tmp_path, bare)) as archive:
        assert [name.rpartition("/")[2] for name in archive.namelist()] == ["METADATA", "WHEEL", "RECORD"]
    assert bare.requires == ("deepagents-kernel>=0.1",)
    assert Distribution("bare", requires=()).requires == ()
    assert Distribution("bare", requires="attrs").requires == ("attrs",)


@pytest.mark.parametrize(
    ("part", "given"),
    [
        ("name", {"name": ""}),
        ("name", {"name": "-audit"}),
        ("name", {"name": "audit\nVersion: 9"}),
        ("name", {"name": "../audit"}),
        ("version", {"version": ""}),
        ("version", {"version": "v1.0"}),
        ("version", {"version": "1.0-beta"}),
        ("version", {"version": "1.0\n"}),
        ("version", {"version": "01.0"}),
        ("modules", {"modules": {"": ""}}),
        ("modules", {"modules": {"/etc/audit.py": ""}}),
        ("modules", {"modules": {"audit/../../x.py": ""}}),
        ("modules", {"modules": {"audit\\x.py": ""}}),
        ("modules", {"modules": {"audit//x.py": ""}}),
        ("modules", {"modules": {"audit-1.0.dist-info/RECORD": ""}}),
        ("entry_points", {"entry_points": {"my plugins": {"a": "b"}}}),
        ("entry_points", {"entry_points": {"plugins": {"a=b": "c"}}}),
        ("entry_points", {"entry_points": {"plugins": {"[a": "c"}}}),
        ("entry_points", {"entry_points": {"plugins": {"": "c"}}}),
        ("entry_points", {"entry_points": {"plugins": {"a": "  "}}}),
        ("entry_points", {"entry_points": {"plugins": {"a": "b\nc = d"}}}),
        ("requires", {"requires": ["attrs\nVersion: 9"]}),
        ("requires", {"requires": [""]}),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_part(part, given):
    with pytest.raises(DistributionError) as caught:
        Distribution(**{"name": "audit", **given})
    assert caught.value.part == part
    assert caught.value.distribution == given.get("name", "audit")
    assert isinstance(caught.value, ValueError)
    assert f"{part}: " in str(caught.value)


def test_an_entry_point_may_lead_nowhere():
    Distribution("broken", entry_points={"deepagents.plugins": {"Not A Plugin Name": "no such:module!"}})


@pytest.mark.parametrize(
    "version", ["0", "1.0", "2025.1.20", "1.0a1", "1.0.post2", "1.0.dev3", "1.0rc1.dev0", "1.0+local.1"]
)
def test_versions_in_normal_form(version):
    assert Distribution("audit", version=version).version == version


NAMES = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,8}[A-Za-z0-9])?", fullmatch=True)
POINTS = st.from_regex(r"[a-z][a-z0-9.:-]{0,10}", fullmatch=True)


@settings(deadline=None)  # it writes files
@given(
    name=NAMES,
    entry_points=st.dictionaries(st.sampled_from(["a.b", "c"]), st.dictionaries(POINTS, POINTS, min_size=1)),
)
def test_whatever_is_taken_is_read_back(tmp_path_factory, name, entry_points):
    written = Distribution(name, entry_points=entry_points)
    folder = tmp_path_factory.mktemp("wheel")
    (found,) = importlib.metadata.distributions(path=[str(write_wheel(folder, written))])
    assert found.name == name
    read = {(point.group, point.name, point.value) for point in found.entry_points}
    assert read == {(group, key, value) for group, row in entry_points.items() for key, value in row.items()}
    source = tomllib.loads((write_source(folder, written) / "pyproject.toml").read_text(encoding="utf-8"))
    assert source["project"]["name"] == name
    assert source["project"].get("entry-points", {}) == entry_points


def test_a_source_tree(tmp_path):
    folder = write_source(tmp_path / "audit", AUDIT)
    assert (folder / "src" / "audit" / "__init__.py").read_bytes() == "NAME = 'Prüfung'\n".encode()
    assert (folder / "src" / "audit" / "a, b.txt").read_bytes() == b"one\r\ntwo\n"
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))
    assert project["build-system"]["build-backend"] == "hatchling.build"
    assert project["project"]["version"] == "1.2rc1"
    assert project["project"]["dependencies"] == list(AUDIT.requires)
    assert project["project"]["entry-points"]["console_scripts"] == {"audit": "audit:main"}


def test_a_backend_that_is_not_known(tmp_path):
    with pytest.raises(DistributionError, match="nearest: hatchling"):
        write_source(tmp_path / "audit", AUDIT, backend="hatchlin")
    with pytest.raises(DistributionError, match="there are: hatchling") as caught:
        write_source(tmp_path / "audit", AUDIT, backend="make")
    assert caught.value.part == "backend"
    assert not (tmp_path / "audit").exists()


def test_a_wheel_can_be_imported_from(wheel, monkeypatch):
    monkeypatch.syspath_prepend(str(wheel))
    monkeypatch.delitem(sys.modules, "audit", raising=False)
    import audit

    assert audit.NAME == "Prüfung"
    monkeypatch.delitem(sys.modules, "audit")
