"""File data, types by suffix, and formatting."""

import base64
import datetime as dt
import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.files.file_data import (
    bytes_to_file_data,
    create_file_data,
    file_data_to_bytes,
    file_data_to_string,
    file_size,
    unencodable_reason,
    update_file_data,
)
from deepagents_kernel.files.formatting import (
    MAX_LINE_LENGTH,
    TRUNCATION_GUIDANCE,
    TRUNCATION_MARKER_TEMPLATE,
    check_empty_content,
    format_content_with_line_numbers,
    sanitize_tool_call_id,
    truncate_if_too_long,
)
from deepagents_kernel.files.types_by_suffix import TYPE_BY_SUFFIX, file_type, read_type


@pytest.mark.spec("BK-050", "BK-055")
def test_a_new_file():
    made = create_file_data("text")
    assert (made["content"], made["encoding"]) == ("text", "utf-8")
    assert made["created_at"] == made["modified_at"]
    stamp = dt.datetime.fromisoformat(made["modified_at"])
    assert stamp.utcoffset() == dt.timedelta(0)
    assert abs((dt.datetime.now(dt.UTC) - stamp).total_seconds()) < 60
    kept = create_file_data("AA==", "2020-01-01T00:00:00+00:00", "base64")
    assert (kept["created_at"], kept["encoding"]) == ("2020-01-01T00:00:00+00:00", "base64")
    assert kept["modified_at"] > kept["created_at"]


@pytest.mark.spec("BK-056")
def test_an_updated_file():
    old = {"content": "AA==", "encoding": "base64", "created_at": "c", "modified_at": "m"}
    new = update_file_data(old, "AAA=")
    assert (new["content"], new["encoding"], new["created_at"]) == ("AAA=", "base64", "c")
    assert new["modified_at"] != "m"
    assert old["content"] == "AA=="
    assert set(update_file_data({"content": "a"}, "b")) == {"content", "encoding", "modified_at"}


@pytest.mark.spec("BK-051", "BK-053")
def test_stored_content_as_text():
    assert file_data_to_string({"content": ["a", "", "b"]}) == "a\n\nb"
    assert file_data_to_string({"content": "a"}) == "a"
    for broken in ({"content": 3}, {"content": ["a", 3]}, {"content": ["a", None]}, {}, "text", None):
        with pytest.raises(TypeError, match="file content"):
            file_data_to_string(broken)


@pytest.mark.spec("BK-057")
@given(st.binary(max_size=200))
def test_bytes_come_back(content):
    stored = bytes_to_file_data(content)
    assert file_data_to_bytes(stored) == content
    assert file_size(stored) == len(content)
    if stored["encoding"] == "base64":
        assert stored["content"] == base64.b64encode(content).decode("ascii")
    else:
        assert stored["content"].encode() == content


@pytest.mark.spec("BK-057")
def test_long_base64_has_no_breaks():
    assert "\n" not in bytes_to_file_data(b"\xff" * 1000)["content"]
    with pytest.raises(TypeError, match="no base64"):
        file_data_to_bytes({"content": "?", "encoding": "base64"})


def test_what_can_not_be_stored():
    assert unencodable_reason("ünï") is None
    assert "U+D800 at position 1" in unencodable_reason("a\ud800").replace(")", "")


@pytest.mark.spec("BK-060", "BK-062")
def test_types():
    assert len(TYPE_BY_SUFFIX) == 25
    assert [
        file_type(name) for name in ("/a.PNG", "/a.mp4", "/a.3gpp", "/a.flac", "/a.pptx", "/a.py", "/a")
    ] == [
        "image",
        "video",
        "video",
        "audio",
        "file",
        "text",
        "text",
    ]
    assert [file_type(name) for name in ("/.png", "/a.png.txt", "/d.png/a", "/a.tar.gif", "/a.svg")] == [
        "text",
        "text",
        "text",
        "image",
        "text",
    ]
    assert file_type("/d\\.png") == "image"


@pytest.mark.spec("BK-061")
def test_matroska_is_video_for_readers_only():
    assert (file_type("/a.mkv"), read_type("/a.MKV"), read_type("/a.png")) == ("text", "video", "image")


@pytest.mark.spec("BK-090")
def test_line_numbers():
    assert format_content_with_line_numbers("a\n\nb\n") == "1  a\n2  \n3  b"
    assert format_content_with_line_numbers(["a", "b"], 9) == " 9  a\n10  b"
    assert format_content_with_line_numbers("") == ""
    long = "x" * (2 * MAX_LINE_LENGTH + 1)
    rows = format_content_with_line_numbers(f"{long}\nend", 7).split("\n")
    assert rows == [
        "  7  " + "x" * MAX_LINE_LENGTH,
        "7.1  " + "x" * MAX_LINE_LENGTH,
        "7.2  x",
        "  8  end",
    ]
    assert len(format_content_with_line_numbers("x" * MAX_LINE_LENGTH).split("\n")) == 1


@pytest.mark.spec("BK-093")
def test_results_are_cut_to_size():
    assert truncate_if_too_long("x" * 80_000) == "x" * 80_000
    cut = truncate_if_too_long("x" * 80_001)
    assert len(cut) == 80_000
    assert cut.endswith(f"x\n{TRUNCATION_GUIDANCE}")
    items = ["y" * 9_998] * 9
    assert truncate_if_too_long(items[:8]) == items[:8]
    assert truncate_if_too_long(items) == [*items[:8], TRUNCATION_GUIDANCE]


def test_the_marker_stands_on_a_line_of_its_own():
    shown = f"a{TRUNCATION_MARKER_TEMPLATE.format(omitted_lines=7)}b"
    before, marker, after = shown.split("\n")
    assert (before, after) == ("a", "b")
    assert "7" in marker


@pytest.mark.spec("BK-094")
def test_tool_call_ids_as_names():
    assert sanitize_tool_call_id("a/b\\c.d-e") == "a_b_c_d-e"
    assert sanitize_tool_call_id("x" * 128) == "x" * 128
    for long in ("x" * 129, "é" * 65):
        assert sanitize_tool_call_id(long) == f"call-{hashlib.sha256(long.encode()).hexdigest()}"
    assert sanitize_tool_call_id("." * 129) == f"call-{hashlib.sha256(b'.' * 129).hexdigest()}"


def test_emptiness():
    assert check_empty_content(" \n") == check_empty_content("")
    assert check_empty_content(" x ") is None
