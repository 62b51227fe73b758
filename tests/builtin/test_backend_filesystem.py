"""Files in a local folder."""

import asyncio
import base64
import dataclasses
import datetime as dt
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import tracemalloc
import warnings
from pathlib import Path

import pytest

from deepagents_builtin.backends.filesystem import reading, searching
from deepagents_builtin.backends.filesystem.atomic import TEMPORARY_PREFIX
from deepagents_builtin.backends.filesystem.backend import FilesystemBackend
from deepagents_builtin.backends.filesystem.plugin import deepagents_backends, make_backend
from deepagents_kernel.contracts import results
from deepagents_kernel.errors import BackendSpecError

ORDINARY_UID = 65534


@pytest.fixture
def root(tmp_path):
    folder = tmp_path / "root"
    folder.mkdir()
    return folder


@pytest.fixture
def backend(root):
    return FilesystemBackend(root)


@pytest.fixture
def outside(tmp_path):
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret.txt").write_text("needle", encoding="utf-8")
    return folder


def fill(root, **contents):
    for name, content in contents.items():
        place = root / name.replace("__", "/")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())


def paths(entries):
    return [entry["path"] for entry in entries]


def lines(result):
    return [(match["path"], match["line"], match["text"]) for match in result.matches]


def everything(backend, path):
    """Every operation on one path, with its error."""
    return {
        "ls": backend.ls(path).error,
        "read": backend.read(path).error,
        "edit": backend.edit(path, "needle", "x").error,
        "write": backend.write(path, "x").error,
        "glob": backend.glob("*", path).error,
        "grep": backend.grep("needle", path).error,
        "upload": backend.upload_files([(path, b"x")])[0].error,
        "download": backend.download_files([path])[0].error,
        "delete": backend.delete(path).error,
    }


# Roots and modes --------------------------------------------------------------------------------------


@pytest.mark.spec("FSB-001")
def test_the_root_is_fixed_at_the_start_and_made_by_the_first_write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    here, later = FilesystemBackend(), FilesystemBackend("made/later")
    monkeypatch.chdir("/")
    assert here.cwd == tmp_path
    assert here.virtual_mode
    assert here.max_file_size_bytes == 10 * 1024 * 1024
    assert later.ls("/").error == "Path '/': path_not_found"
    assert later.write("/a/b.txt", "x").path == "/a/b.txt"
    assert (tmp_path / "made/later/a/b.txt").read_text(encoding="utf-8") == "x"
    assert FilesystemBackend(tmp_path / "~").cwd == tmp_path / "~"


@pytest.mark.spec("FSB-002", "FSB-003", "PATH-013", "PATH-014")
def test_paths_of_both_modes(root):
    fill(root, a__b="x", c="x")
    virtual, host = FilesystemBackend(root), FilesystemBackend(root, virtual_mode=False)
    for spelling in ("", ".", "/", "//", "///."):
        assert paths(virtual.ls(spelling).entries) == ["/a/", "/c"]
    assert paths(virtual.glob("b").matches) == paths(virtual.glob("b", "///a").matches) == ["/a/b"]
    assert paths(host.ls("a").entries) == paths(host.ls(f"{root}/a").entries) == [f"{root}/a/b"]
    assert paths(host.glob("b").matches) == paths(host.glob("b", "/").matches) == [f"{root}/a/b"]
    assert f"{root}/a/b" in [match["path"] for match in host.grep("x").matches]
    assert "/tmp/" in paths(host.ls("/").entries)
    (root.parent / "up").write_text("above", encoding="utf-8")
    assert host.read("../up").file_data["content"] == "above"
    assert host.write("new", "n").path == f"{root}/new"


@pytest.mark.spec("PATH-001", "PATH-004", "PATH-011", "PATH-012")
def test_names_are_compared_by_component(backend):
    for path in ("/foo..bar.txt", "/~x", "~x", "/C:/x", "/..."):
        assert backend.write(path, "x").error is None
        assert backend.read(path).file_data["content"] == "x"
    for path in ("/../x", "..", "/a/../b"):
        assert "'..' is not allowed" in backend.read(path).error


@pytest.mark.spec("BY-001", "FSB-005", "FSB-006", "BK-012")
def test_an_illegal_path_is_a_result_of_every_operation(backend):
    for path, code in (
        ("/a\0b", "U+0000"),
        ("/\ud800", "U+D800"),
        ("/" + "x" * 300, "255 bytes"),
        ("/../x", "'..'"),
    ):
        found = everything(backend, path)
        assert found.pop("upload") == found.pop("download") == "invalid_path"
        assert all(code in error for error in found.values()), found


@pytest.mark.spec("BY-002", "BY-010", "FSB-010")
def test_a_link_out_of_the_root_is_listed_and_never_followed(backend, root, outside):
    (root / "file.txt").symlink_to(outside / "secret.txt")
    (root / "folder").symlink_to(outside)
    (root / "up").symlink_to("..")
    for path in ("/file.txt", "/folder/secret.txt", "/up/outside/secret.txt"):
        found = everything(backend, path)
        if path == "/file.txt":
            assert found.pop("delete") is None  # the link, not its target
            (root / "file.txt").symlink_to(outside / "secret.txt")
        assert all(found.values()), found
        assert str(root.parent) not in json.dumps(found)
    assert (outside / "secret.txt").read_text(encoding="utf-8") == "needle"
    entries = {entry["path"]: entry for entry in backend.ls("/").entries}
    assert set(entries) == {"/file.txt", "/folder", "/up"}
    assert all(
        entry["is_symlink"] and not entry["is_dir"] and entry["size"] == 0 for entry in entries.values()
    )
    assert backend.glob("**").matches == backend.grep("needle").matches == []
    assert backend.real_path("/file.txt") is backend.real_path("/folder/secret.txt") is None


@pytest.mark.spec("PATH-015", "BY-010", "FSB-006", "FSB-024")
def test_a_loop_of_links_ends(backend, root):
    (root / "loop").symlink_to("loop")
    (root / "ping").symlink_to("pong")
    (root / "pong").symlink_to("ping")
    (root / "self").symlink_to(".")
    fill(root, a="needle")
    for path in ("/loop", "/ping", "/loop/x"):
        found = everything(backend, path)
        if path in {"/loop", "/ping"}:
            assert found.pop("delete") is None
        assert all(found.values()), found
        for name, target in (("loop", "loop"), ("ping", "pong")):
            if not (root / name).is_symlink():
                (root / name).symlink_to(target)
    listed = backend.ls("/")
    assert listed.error is None
    assert paths(listed.entries) == ["/a", "/loop", "/ping", "/pong", "/self/"]
    assert paths(backend.glob("a").matches) == paths(backend.grep("needle").matches) == ["/a"]
    assert backend.read("/self/self/self/a").file_data["content"] == "needle"
    assert "path_not_found" not in (backend.ls("/loop").error or "")


@pytest.mark.spec("FSB-009", "FSB-026", "BK-063")
def test_a_link_inside_of_the_root_leads_to_its_target(backend, root):
    fill(root, sub__real="needle\n")
    (root / "link").symlink_to("sub/real")
    (root / "absolute").symlink_to(root / "sub" / "real")
    (root / "folder").symlink_to("sub")
    (root / "pic.png").symlink_to("sub/real")
    assert backend.read("/link").file_data["content"] == "needle\n"
    assert backend.read("/pic.png").file_data["encoding"] == "base64"
    assert backend.edit("/absolute", "needle", "changed").path == "/absolute"
    assert backend.write("/folder/new", "n").path == "/folder/new"
    assert (root / "sub/real").read_text(encoding="utf-8") == "changed\n"
    assert (root / "sub/new").read_text(encoding="utf-8") == "n"
    assert all((root / name).is_symlink() for name in ("link", "absolute", "folder"))
    shown = {entry["path"]: (entry["is_dir"], entry["size"]) for entry in backend.ls("/").entries}
    assert shown == {
        "/absolute": (False, 8),
        "/folder/": (True, 0),
        "/link": (False, 8),
        "/pic.png": (False, 8),
        "/sub/": (True, 0),
    }
    assert paths(backend.ls("/folder").entries) == ["/folder/new", "/folder/real"]


@pytest.mark.spec("PATH-016")
def test_the_real_path_of_a_link(backend, root):
    fill(root, sub__real="x")
    (root / "link").symlink_to("sub/real")
    (root / "folder").symlink_to("sub")
    assert backend.real_path("/link") == "/sub/real"
    assert backend.real_path("//folder/./real") == "/sub/real"
    assert backend.real_path("/folder/new/deep") == "/sub/new/deep"
    assert backend.real_path("/") == "/"
    assert FilesystemBackend(root, virtual_mode=False).real_path("link") == f"{root}/sub/real"
    assert FilesystemBackend(root / "missing").real_path("/a") == "/a"


@pytest.mark.spec("FSB-007", "FSB-008")
def test_a_host_path_of_a_link_is_taken_at_its_word(root):
    fill(root, real="x")
    (root / "link").symlink_to("real")
    host = FilesystemBackend(root, virtual_mode=False)
    link = f"{root}/link"
    for error in (host.read(link).error, host.write(link, "y").error, host.edit(link, "x", "y").error):
        assert "link" in error
    assert host.download_files([link])[0].error == host.upload_files([(link, b"")])[0].error == "invalid_path"
    assert host.read("link").file_data["content"] == "x"
    assert host.delete(link).path == link
    assert (root / "real").read_text(encoding="utf-8") == "x"


def test_a_folder_swapped_for_a_link_is_not_followed(backend, root, outside, monkeypatch):
    fill(root, sub__secret="inside")
    real_stat = os.stat

    def swapping(path, *arguments, **options):
        found = real_stat(path, *arguments, **options)
        if path == "sub" and not (root / "sub").is_symlink():
            (root / "sub").rename(root / "moved")
            (root / "sub").symlink_to(outside)
        return found

    monkeypatch.setattr(os, "stat", swapping)
    assert backend.read("/sub/secret.txt").error
    assert backend.write("/sub/secret.txt", "x").error
    assert (outside / "secret.txt").read_text(encoding="utf-8") == "needle"


# Listings ---------------------------------------------------------------------------------------------


@pytest.mark.spec("FSB-020", "FSB-021", "FSB-022", "FSB-023", "BK-036")
def test_listing(backend, root):
    fill(root, b="12", a__x="", ab="")
    (root / "empty").mkdir()
    os.mkfifo(root / "pipe")
    os.utime(root / "b", (0, 0))
    entries = backend.ls("/").entries
    assert paths(entries) == ["/a/", "/ab", "/b", "/empty/"]
    assert entries[2] == {
        "path": "/b",
        "is_dir": False,
        "size": 2,
        "modified_at": "1970-01-01T00:00:00+00:00",
    }
    assert (entries[0]["is_dir"], entries[0]["size"]) == (True, 0)
    assert dt.datetime.fromisoformat(entries[0]["modified_at"]).utcoffset() == dt.timedelta(0)
    empty = backend.ls("/empty")
    assert (empty.entries, empty.error) == ([], None)
    for path, code in (("/missing", "path_not_found"), ("/b", "not_a_directory"), ("/b/x", "path_not_found")):
        failed = backend.ls(path)
        assert (failed.error, failed.entries) == (f"Path '{path}': {code}", None)


@pytest.mark.spec("FSB-023")
def test_a_broken_link_is_listed_as_a_link(backend, root):
    (root / "broken").symlink_to("nowhere")
    (entry,) = backend.ls("/").entries
    assert (entry["path"], entry["is_symlink"], entry["is_dir"]) == ("/broken", True, False)
    assert backend.glob("*").matches == []
    assert backend.delete("/broken").path == "/broken"


def test_names_that_can_not_be_shown_stay_on_their_line(backend, root):
    (root / "a\nb").write_text("needle", encoding="utf-8")
    os.close(os.open(os.fsencode(root) + b"/\xff", os.O_CREAT | os.O_WRONLY))
    assert paths(backend.ls("/").entries) == ["/\\udcff", "/a\\x0ab"]
    globbed = backend.glob("*")
    assert (globbed.matches, globbed.truncation_reason) == ([], "unreadable")
    assert "a\\x0ab" in backend.grep("needle").error


# Reading ----------------------------------------------------------------------------------------------


@pytest.mark.spec("FSB-034", "BK-033", "BK-034")
def test_reading_windows(backend, root):
    fill(root, t="a\r\nb\nc", bom="\ufeffx")
    window = backend.read("/t", 1, 1)
    assert (window.file_data["content"], window.start_line, window.next_offset) == ("b\n", 2, 2)
    assert backend.read("/t", -5, 2).file_data["content"] == "a\nb\n"
    assert backend.read("/t", 9, 0).no_lines_requested
    assert "past the end" in backend.read("/t", 3).error
    assert backend.read("/bom").file_data["content"] == "\ufeffx"


@pytest.mark.spec("FSB-030")
def test_what_is_no_file_is_not_found(backend, root):
    (root / "folder").mkdir()
    os.mkfifo(root / "pipe")
    (root / "broken").symlink_to("nowhere")
    for path in ("/missing", "/folder", "/pipe", "/broken"):
        assert backend.read(path).error == f"File '{path}' not found"


@pytest.mark.spec("FSB-031", "BK-061")
def test_binary_types_come_whole(backend, root, monkeypatch):
    fill(root, **{"v.mkv": "hello", "e.png": b"", "i.PNG": b"\x89PNG"})
    for path, content in (("/v.mkv", b"hello"), ("/e.png", b""), ("/i.PNG", b"\x89PNG")):
        result = backend.read(path, 3, 0)
        assert base64.b64decode(result.file_data["content"]) == content
        assert (result.file_data["encoding"], result.start_line) == ("base64", None)
    monkeypatch.setattr(reading, "MAX_VIDEO_INPUT_BYTES", 4)
    monkeypatch.setattr(reading, "MAX_MEDIA_BYTES", 3)
    for path in ("/v.mkv", "/i.PNG"):
        assert "too large" in backend.read(path).error


@pytest.mark.spec("FSB-033")
def test_an_empty_file_is_empty(backend, root):
    fill(root, **{"e.txt": "", "b.txt": " \n"})
    for path, content in (("/e.txt", ""), ("/b.txt", " \n")):
        result = backend.read(path)
        assert (result.error, result.file_data["content"], result.start_line) == (None, content, None)


@pytest.mark.spec("BY-011", "FSB-032")
def test_other_encodings(backend, root, monkeypatch):
    fill(
        root,
        latin="café\r\nx\r\n".encode("latin-1"),
        u16="\ufeffhé\nx".encode("utf-16-le"),
        u32="\ufeffhé\nx".encode("utf-32-be"),
        late=b"x" * 200_000 + "\ncafé".encode("latin-1"),
        binary=b"\xff\x00\x01needle",
    )
    for path, encoding, content in (
        ("/latin", "latin-1", "café\nx\n"),
        ("/u16", "utf-16-le", "\ufeffhé\nx"),
        ("/u32", "utf-32-be", "\ufeffhé\nx"),
    ):
        result = backend.read(path)
        assert (result.source_encoding, result.file_data["content"]) == (encoding, content)
        assert result.file_data["encoding"] == "utf-8"
    assert backend.read("/late", 1).file_data["content"] == "café"
    whole = backend.read("/binary")
    assert (whole.file_data["encoding"], base64.b64decode(whole.file_data["content"])[-6:]) == (
        "base64",
        b"needle",
    )
    monkeypatch.setattr(reading, "MAX_BINARY_BYTES", 4)
    assert "is binary" in backend.read("/binary").error
    assert FilesystemBackend(root, encoding="cp1252").read("/latin").source_encoding == "cp1252"
    assert lines(backend.grep("é")) == [
        ("/late", 2, "café"),
        ("/latin", 1, "café"),
        ("/u16", 1, "\ufeffhé"),
        ("/u32", 1, "\ufeffhé"),
    ]
    assert backend.grep("needle").skipped == ["/binary"]


def test_memory_is_bounded_by_the_window(backend, root):
    with (root / "big").open("w", encoding="utf-8") as file:
        for number in range(400_000):
            file.write(f"line {number} of a file that does not fit\n")
    tracemalloc.start()
    try:
        result = backend.read("/big", 300_000, 2)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert result.file_data["content"].startswith("line 300000 ")
    assert (result.total_lines, result.next_offset) == (400_000, 300_002)
    assert peak < 2_000_000 < (root / "big").stat().st_size / 5


# Writing ----------------------------------------------------------------------------------------------


@pytest.mark.spec("FSB-040", "BK-032")
def test_writing(backend, root):
    before = os.umask(0o022)
    try:
        assert backend.write("/a/b/c", "x\r\ny\n").path == "/a/b/c"
    finally:
        os.umask(before)
    assert (root / "a/b/c").read_bytes() == b"x\r\ny\n"
    assert (root / "a/b/c").stat().st_mode & 0o777 == 0o644
    (root / "a/b/c").chmod(0o751)
    assert backend.write("/a/b/c", "y").path == "/a/b/c"
    assert (root / "a/b/c").read_text(encoding="utf-8") == "y"
    assert (root / "a/b/c").stat().st_mode & 0o777 == 0o751
    assert backend.edit("/a/b/c", "y", "z").occurrences == 1
    assert (root / "a/b/c").stat().st_mode & 0o777 == 0o751
    assert [place.name for place in (root / "a/b").iterdir()] == ["c"]


@pytest.mark.spec("FSB-041", "FSB-043")
def test_writing_where_it_can_not_be(backend, root):
    fill(root, f="x", folder__a="x")
    os.mkfifo(root / "pipe")
    assert backend.write("/folder", "x").error == "Error: File '/folder': is a directory"
    assert backend.write("/", "x").error == "Error: File '/': is a directory"
    assert "is a file" in backend.write("/f/below", "x").error
    assert "no regular file" in backend.write("/pipe", "x").error
    assert backend.edit("/missing", "a", "b").error == "Error: File '/missing' not found"
    assert "is a directory" in backend.edit("/folder", "a", "b").error


@pytest.mark.spec("FSB-040", "FSB-042")
def test_what_can_not_be_encoded_leaves_the_file_alone(backend, root):
    fill(root, f="old", latin="caf\xe9".encode("latin-1"))
    assert "lone surrogate" in backend.write("/f", "\ud800").error
    assert "U+D800" in backend.edit("/f", "old", "\ud800").error
    assert "latin-1" in backend.edit("/latin", "caf", "€").error
    assert (root / "f").read_text(encoding="utf-8") == "old"
    assert (root / "latin").read_bytes() == b"caf\xe9"


@pytest.mark.spec("FSB-042", "BY-004", "BY-005", "BY-011")
def test_an_edit_changes_only_what_it_replaces(backend, root):
    fill(
        root,
        crlf="a\r\nb\r\nc\r\n",
        mixed="\ufeffa\r\nb\nlast",
        latin="é\r\nx\r\n".encode("latin-1"),
        u16="\ufeffa\r\nx".encode("utf-16-be"),
    )
    assert backend.edit("/crlf", "a\nb", "X\r\nY").occurrences == 1
    assert (root / "crlf").read_bytes() == b"X\r\nY\r\nc\r\n"
    assert backend.edit("/mixed", "b\nlast", "b\nnew\nlast").occurrences == 1
    assert (root / "mixed").read_bytes() == "\ufeffa\r\nb\nnew\nlast".encode()
    assert backend.edit("/latin", "x", "é\nx").occurrences == 1
    assert (root / "latin").read_bytes() == "é\r\né\r\nx\r\n".encode("latin-1")
    assert backend.edit("/u16", "x", "y").occurrences == 1
    assert (root / "u16").read_bytes() == "\ufeffa\r\ny".encode("utf-16-be")


@pytest.mark.spec("FSB-043", "BY-008")
def test_edits_that_are_refused(backend, root):
    fill(root, f="abab", binary=b"\x00\xffab")
    assert "2 times" in backend.edit("/f", "ab", "z").error
    assert "nothing to change" in backend.edit("/f", "ab", "ab").error
    assert "binary" in backend.edit("/binary", "ab", "z").error
    assert backend.edit("/f", "ab", "z", replace_all=True).occurrences == 2
    assert (root / "f").read_text(encoding="utf-8") == "zz"


WRITER = """
import sys
from deepagents_builtin.backends.filesystem.backend import FilesystemBackend
backend = FilesystemBackend(sys.argv[1])
letter = "a"
while True:
    letter = "b" if letter == "a" else "a"
    assert backend.write("/f", letter * 3_000_000).error is None
    print(letter, flush=True)
"""


@pytest.mark.spec("BY-003")
def test_a_killed_writer_leaves_the_old_or_the_new(backend, root):
    for rounds in (1, 2, 3):
        command = [sys.executable, "-c", WRITER, str(root)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment()) as writer:
            for _ in range(rounds):
                assert writer.stdout.readline()
            writer.send_signal(signal.SIGKILL)
        content = (root / "f").read_bytes()
        assert content in (b"a" * 3_000_000, b"b" * 3_000_000)
        assert paths(backend.ls("/").entries) == ["/f"]
        assert paths(backend.glob(".*").matches) == []


@pytest.mark.spec("BY-003")
def test_a_failing_write_leaves_the_old_and_no_litter(backend, root, monkeypatch):
    fill(root, f="old")

    def failing(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "rename", failing)
    assert backend.write("/f", "new").error == "Error: File '/f': no space left on device"
    assert backend.edit("/f", "old", "new").error == "Error: File '/f': no space left on device"
    assert [(place.name, place.read_text(encoding="utf-8")) for place in root.iterdir()] == [("f", "old")]


@pytest.mark.spec("BY-003")
def test_what_a_killed_writer_left_is_not_shown(backend, root):
    fill(root, **{f"{TEMPORARY_PREFIX}x": "needle", "a": "needle"})
    assert paths(backend.ls("/").entries) == paths(backend.grep("needle").matches) == ["/a"]
    assert backend.glob(".*").matches == []


@pytest.mark.spec("BY-003")
def test_readers_never_see_half_a_file(backend, root):
    fill(root, f="a" * 200_000)
    stop, seen = threading.Event(), set()

    def read():
        while not stop.is_set():
            seen.add((root / "f").read_text(encoding="utf-8")[::199_999])

    reader = threading.Thread(target=read)
    reader.start()
    for number in range(60):
        assert backend.write("/f", "ab"[number % 2] * 200_000).error is None
    stop.set()
    reader.join()
    assert seen <= {"aa", "bb"}


@pytest.mark.spec("FSB-042")
def test_edits_at_the_same_time_all_count(root):
    fill(root, f="".join(f"<{number}>" for number in range(80)))
    errors = []

    def edit(start):
        own = FilesystemBackend(root)
        errors.extend(own.edit("/f", f"<{number}>", f"[{number}]").error for number in range(start, 80, 8))

    workers = [threading.Thread(target=edit, args=(start,)) for start in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert errors == [None] * 80
    assert (root / "f").read_text(encoding="utf-8") == "".join(f"[{number}]" for number in range(80))


def test_durable_writes_reach_the_disk(root, monkeypatch):
    synced = []
    monkeypatch.setattr(os, "fsync", synced.append)
    assert FilesystemBackend(root).write("/a", "x").error is None
    assert synced == []
    assert FilesystemBackend(root, durability="fsync").write("/a", "x").error is None
    assert len(synced) == 2  # the file and its folder


# Deleting and transfers -------------------------------------------------------------------------------


@pytest.mark.spec("FSB-047", "FSB-048", "FSB-049")
def test_deleting(backend, root):
    fill(root, d__e__f="x", sub__kept="x", f="x")
    (root / "link").symlink_to("sub")
    (root / "d/inner").symlink_to("../sub")
    assert backend.delete("/d/").path == "/d"
    assert backend.delete("/f").path == "/f"
    assert backend.delete("/link").path == "/link"
    assert backend.delete("/missing").error == "Error: File '/missing' not found"
    assert paths(backend.ls("/").entries) == ["/sub/"]
    assert (root / "sub/kept").exists()
    for path in ("/", "", "//", "."):
        assert "root folder can't be deleted" in backend.delete(path).error
    host = FilesystemBackend(root, virtual_mode=False)
    for path in ("/", str(root), str(root.parent), ".", ".."):
        assert "root folder can't be deleted" in host.delete(path).error
    assert (root / "sub/kept").exists()


@pytest.mark.spec("FSB-044", "FSB-045", "FSB-046", "BK-035", "BK-036")
def test_transfers(backend, root):
    fill(root, folder__x="x", f=b"\xff")
    (root / "loop").symlink_to("loop")
    sent = backend.upload_files(
        [
            ("/new/a", b"\x00"),
            ("/folder", b""),
            ("/f/below", b""),
            ("/loop", b""),
            ("/" + "n" * 300, b""),
            ("/f", b"2"),
        ]
    )
    assert [item.error for item in sent] == [None, "is_directory", *["invalid_path"] * 3, None]
    assert [item.path for item in sent][:2] == ["/new/a", "/folder"]
    fetched = backend.download_files(["/new/a", "/missing", "/folder", "/loop", "/f/below", "/f"])
    assert [item.content for item in fetched] == [b"\x00", None, None, None, None, b"2"]
    assert [item.error for item in fetched] == [
        None,
        "file_not_found",
        "is_directory",
        "invalid_path",
        "invalid_path",
        None,
    ]


# Searching --------------------------------------------------------------------------------------------


@pytest.mark.spec("GLOB-018", "GLOB-019", "GLOB-020", "GLOB-012")
def test_globbing(backend, root):
    fill(root, **{"b.py": "12", "a/c.py": "", "a.py": "", "a/.h/d.py": "", "dir.py/x": ""})
    found = backend.glob("*.py")
    assert paths(found.matches) == ["/a.py", "/a/.h/d.py", "/a/c.py", "/b.py"]
    assert (found.matches[-1]["size"], found.matches[-1]["is_dir"], found.truncated) == (2, False, False)
    assert paths(backend.glob("/*.py", "/a").matches) == ["/a/c.py"]
    assert paths(backend.glob("a/**/*.py").matches) == ["/a/c.py"]
    assert paths(backend.glob("*.py", "/b.py").matches) == ["/b.py"]
    assert backend.glob("*.md", "/b.py").matches == []
    refused = backend.glob("../*", "/missing")
    assert (refused.matches, "not allowed" in refused.error) == (None, True)
    assert backend.glob("*", "/missing").error == "Path '/missing': path_not_found"


@pytest.mark.spec("FSB-062", "GLOB-018")
def test_links_in_a_glob(backend, root, outside):
    fill(root, sub__real="x")
    (root / "file").symlink_to("sub/real")
    (root / "folder").symlink_to("sub")
    (root / "out").symlink_to(outside / "secret.txt")
    found = backend.glob("**/*").matches
    assert [(item["path"], item.get("is_symlink", False)) for item in found] == [
        ("/file", True),
        ("/sub/real", False),
    ]
    host = FilesystemBackend(root, virtual_mode=False).glob("*").matches
    assert f"{root}/out" in paths(host)


@pytest.mark.spec("FSB-060")
def test_a_glob_out_of_time_returns_what_it_has(backend, root, monkeypatch):
    fill(root, a="", b="")
    monkeypatch.setattr(searching, "GLOB_BUDGET", 0)
    result = backend.glob("nothing-matches")
    assert (result.matches, result.truncated, result.truncation_reason) == ([], True, "budget")
    assert searching.GLOB_BUDGET < 10


@pytest.mark.spec("GREP-001", "GREP-002", "GREP-005", "GREP-008", "GREP-009")
def test_grepping(backend, root):
    fill(root, a="one.\r\ntwo\rone\n", b__c="one", d="ONE")
    assert lines(backend.grep("one")) == [("/a", 1, "one."), ("/a", 3, "one"), ("/b/c", 1, "one")]
    assert lines(backend.grep("o.e")) == lines(backend.grep("one.\ntwo")) == []
    assert len(backend.grep("").matches) == 5
    for cap, count, truncated in ((3, 3, False), (2, 2, True), (0, 0, True)):
        result = backend.grep("one", max_count=cap)
        assert (len(result.matches), result.truncated) == (count, truncated)


@pytest.mark.spec("GREP-003", "GREP-004", "GREP-035", "GREP-036")
def test_where_grep_looks(backend, root):
    fill(root, **{"sub/b.md": "needle", "sub/deep/c.py": "needle", "a.py": "needle"})
    assert paths(backend.grep("needle", "/sub/b.md").matches) == ["/sub/b.md"]
    assert paths(backend.grep("needle", "/sub/b.md", "*.py").matches) == []
    assert paths(backend.grep("needle", "/sub").matches) == ["/sub/b.md", "/sub/deep/c.py"]
    assert paths(backend.grep("needle", "/sub", "/*.py").matches) == []
    assert paths(backend.grep("needle", "/sub", "deep/*").matches) == ["/sub/deep/c.py"]
    assert len(backend.grep("needle", glob="").matches) == 3
    refused = backend.grep("needle", glob="../*")
    assert (refused.matches, "not allowed" in refused.error) == ([], True)
    assert backend.grep("needle", "/missing").error == "Path '/missing': path_not_found"
    assert "'..' is not allowed" in backend.grep("needle", "/../sub").error


@pytest.mark.spec("BY-011")
def test_grep_says_what_it_skipped(backend, root):
    fill(root, binary=b"needle\x00\xff", small="needle", big="needle" * 10)
    tiny = FilesystemBackend(root)
    tiny.max_file_size_bytes = 20
    assert paths(backend.grep("needle").matches) == ["/big", "/small"]
    assert backend.grep("needle").skipped == ["/binary"]
    assert paths(tiny.grep("needle").matches) == ["/small"]
    assert tiny.grep("needle").skipped == ["/big", "/binary"]


@pytest.mark.spec("GREP-030")
def test_a_grep_out_of_time_returns_what_it_has(backend, root, monkeypatch):
    fill(root, a="needle")
    monkeypatch.setattr(results, "DEFAULT_GREP_TIMEOUT", 0)
    result = backend.grep("needle")
    assert (result.matches, result.truncated, result.error) == ([], True, None)


@pytest.mark.spec("BY-012")
def test_one_ignore_rule_for_searches(backend, root):
    kept = ["/.hidden", "/a", "/keep.log", "/sub/deep/b", "/sub/x.tmp.keep"]
    ignored = [
        "/.git/config",
        "/build/out",
        "/env/bin/tool",
        "/node_modules/p/i.js",
        "/sub/deep/c.tmp",
        "/sub/only-here",
        "/x.log",
    ]
    fill(root, **{path[1:]: "needle" for path in kept + ignored})
    fill(
        root,
        **{
            ".gitignore": "# needle-free comment\n*.log\n!keep.log\n/build/\n\nonly-here/nothing\n",
            "sub/.gitignore": "*.tmp\n/only-here\n",
            "env/pyvenv.cfg": "",
        },
    )
    result = backend.grep("needle")
    assert paths(result.matches) == ["/.gitignore", *kept]
    assert result.ignored == 7
    assert sorted(paths(backend.grep("needle", include_ignored=True).matches)) == sorted(
        [*kept, *ignored, "/.gitignore"]
    )
    assert paths(backend.glob("**/*").matches) == [path for path in kept if path != "/.hidden"]
    assert backend.glob("*").ignored == 7
    assert "/x.log" in paths(backend.glob("*", include_ignored=True).matches)
    assert "/x.log" in paths(FilesystemBackend(root, include_ignored=True).glob("*").matches)
    # What was asked for by name is searched; listings hide nothing.
    assert paths(backend.grep("needle", "/node_modules").matches) == ["/node_modules/p/i.js"]
    assert paths(backend.grep("needle", "/x.log").matches) == ["/x.log"]
    assert paths(backend.glob("node_modules/**/*.js").matches) == ["/node_modules/p/i.js"]
    assert {"/.git/", "/node_modules/", "/x.log"} <= set(paths(backend.ls("/").entries))
    # Rules from above hold in a search that starts below them.
    assert paths(backend.grep("needle", "/sub/deep").matches) == ["/sub/deep/b"]


def environment():
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def as_ordinary_user(work):
    """Run *work* in a forked child under an ordinary uid; returns its JSON-able result."""
    source, sink = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forking beside threads; the child only makes system calls and leaves.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        status = 1
        try:
            if os.getuid() == 0:
                os.setgroups([])
                os.setgid(ORDINARY_UID)
                os.setuid(ORDINARY_UID)
            assert os.getuid() != 0
            with os.fdopen(sink, "w", encoding="utf-8") as out:
                json.dump(work(), out)
            status = 0
        finally:
            os._exit(status)
    os.close(sink)
    with os.fdopen(source, encoding="utf-8") as result:
        text = result.read()
    assert os.waitpid(child, 0)[1] == 0
    return json.loads(text)


@pytest.fixture
def shared_root():
    """A folder that every user may enter, which those of pytest are not."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.mark.spec("FSB-063", "GREP-031", "FSB-041", "BY-002")
def test_what_an_ordinary_user_may_not_read_is_reported(shared_root):
    root = shared_root
    names = ("locked/a.txt", "open/b.txt", "unreadable.txt", "readonly.txt", "names/c.txt")
    fill(root, **dict.fromkeys(names, "needle"))
    (root / "readonly.txt").chmod(0o444)
    (root / "anyone").mkdir()
    (root / "anyone").chmod(0o777)
    (root / "anyone/readonly.md").write_text("x", encoding="utf-8")
    (root / "unreadable.txt").chmod(0)
    (root / "names").chmod(0o744)
    (root / "locked").chmod(0)
    backend = FilesystemBackend(root)

    def work():
        found = {
            "glob": backend.glob("*.txt"),
            "grep": backend.grep("needle"),
            "ls": backend.ls("/locked"),
            "read": backend.read("/locked/a.txt"),
            "unreadable": backend.read("/unreadable.txt"),
            "write": backend.write("/readonly.txt", "x"),
            "new": backend.write("/new.txt", "x"),
            "guarded": backend.write("/anyone/readonly.md", "y"),
            "allowed": backend.write("/anyone/new.md", "y"),
            "download": backend.download_files(["/unreadable.txt"])[0],
            "delete": backend.delete("/open/b.txt"),
            "names": backend.ls("/names"),
        }
        return {name: dataclasses.asdict(result) for name, result in found.items()}

    found = as_ordinary_user(work)
    (root / "locked").chmod(0o755)
    assert found["glob"]["error"] is None
    assert paths(found["glob"]["matches"]) == [
        "/names/c.txt",
        "/open/b.txt",
        "/readonly.txt",
        "/unreadable.txt",
    ]
    assert (found["glob"]["truncated"], found["glob"]["truncation_reason"]) == (True, "unreadable")
    assert paths(found["grep"]["matches"]) == ["/open/b.txt", "/readonly.txt"]
    assert found["grep"]["truncated"] is False
    assert "'/locked': permission denied" in found["grep"]["error"]
    assert "'/unreadable.txt': permission denied" in found["grep"]["error"]
    assert found["names"]["entries"] == [{"path": "/names/c.txt", "is_dir": False}]
    errors = {
        name: found[name]["error"]
        for name in ("ls", "read", "unreadable", "write", "new", "guarded", "allowed", "download", "delete")
    }
    assert errors == {
        "ls": "Path '/locked': permission_denied",
        "read": "File '/locked/a.txt': permission denied",
        "unreadable": "File '/unreadable.txt': permission denied",
        "write": "Error: File '/readonly.txt': permission denied",
        "new": "Error: File '/new.txt': permission denied",
        "guarded": "Error: File '/anyone/readonly.md': permission denied",
        "allowed": None,
        "download": "permission_denied",
        "delete": "Error: File '/open/b.txt': permission denied",
    }
    assert str(root) not in json.dumps(found)
    assert (root / "readonly.txt").read_text(encoding="utf-8") == "needle"


# Async, and by name -----------------------------------------------------------------------------------


async def test_twins_agree(backend, root):
    fill(root, **{"a": "x\n", "node_modules/b": "x\n"})
    assert await backend.als("/") == backend.ls("/")
    assert await backend.aread("/a") == backend.read("/a")
    assert await backend.agrep("x", max_count=1) == backend.grep("x")
    assert await backend.aglob("*", include_ignored=True) == backend.glob("*", include_ignored=True)
    assert (await backend.agrep("x", include_ignored=True, max_count=1)).truncated
    assert (await backend.awrite("/b", "y")).path == "/b"
    assert (await backend.aedit("/b", "y", "z")).occurrences == 1
    assert (await backend.aupload_files([("/c", b"")]))[0].error is None
    assert await asyncio.gather(*[backend.adownload_files(["/b"])] * 1) == [backend.download_files(["/b"])]
    assert (await backend.adelete("/b")).path == "/b"


async def test_a_subclass_may_keep_the_protocols_signatures(root):
    class Own(FilesystemBackend):
        def grep(self, pattern, path=None, glob=None):
            return super().grep(pattern.upper(), path, glob)

        def glob(self, pattern, path=None):
            return super().glob(f"*{pattern}", path)

    fill(root, a="X\nX")
    assert len((await Own(root).agrep("x", max_count=1)).matches) == 1
    assert paths((await Own(root).aglob("a")).matches) == ["/a"]


def test_it_can_be_named_in_a_string(root, monkeypatch):
    spec = deepagents_backends()
    monkeypatch.chdir(root.parent)
    made = spec.factory("root", spec.options(max_file_size_mb=2, encoding="latin-1"))
    monkeypatch.chdir("/")
    assert (spec.name, made.cwd, made.virtual_mode, made.max_file_size_bytes) == (
        "filesystem",
        root,
        True,
        2 * 1024**2,
    )
    assert make_backend(str(root)).cwd == root
    (root / "file").write_text("", encoding="utf-8")
    for place, hint in (
        ("", "filesystem:./work"),
        ("  ", "filesystem:./work"),
        (f"{root}/x", "mkdir"),
        (f"{root}/file", "is a file"),
    ):
        with pytest.raises(BackendSpecError, match=hint) as caught:
            spec.factory(place, spec.options())
        assert caught.value.hint
    for options in ({"encoding": "klingon"}, {"durability": "hope"}, {"max_file_size_mb": -1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            spec.options(**options)
