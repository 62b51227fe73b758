"""Windows of lines."""

import itertools
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.contracts.results import ReadResult
from deepagents_kernel.files.text import split_lines, to_lf
from deepagents_kernel.files.windows import LineWindow, normalize_read_bounds, slice_read_response


def file(content, **more):
    return {"content": content, "encoding": "utf-8", **more}


def cut(content, offset, limit):
    return slice_read_response(file(content), offset, limit)


@pytest.mark.spec("BK-033")
def test_bounds():
    assert normalize_read_bounds(-5, "3") == (0, 3)
    assert normalize_read_bounds(2.9, -1) == (2, 0)


@pytest.mark.spec("BK-074", "BK-075")
def test_a_window_in_the_middle():
    result = cut("a\nb\nc", 1, 1)
    assert result == ReadResult(None, file("b\n"), 3, 2, 2, 2)
    assert cut("a\nb\nc", 2, 1) == ReadResult(None, file("c"), 3, 3, 3)
    assert cut("a\nb\nc\n", 2, 5) == ReadResult(None, file("c\n"), 3, 3, 3)
    assert cut("a\nb\nc", -5, 2) == ReadResult(None, file("a\nb\n"), 3, 1, 2, 2)


@pytest.mark.spec("BK-070", "BK-072", "BK-073")
def test_nothing_asked_for_comes_before_past_the_end():
    assert cut("a\nb\nc", 3, 0) == ReadResult(file_data=file(""), no_lines_requested=True)
    assert cut("a\nb\nc", 0, -2) == ReadResult(file_data=file(""), no_lines_requested=True)
    error = cut("a\nb\nc", 3, 1).error
    assert "offset 3" in error
    assert "3 lines" in error


@pytest.mark.spec("BK-070", "BK-071")
@pytest.mark.parametrize("blank", ["", "\n", " \t\r\n\n", "\x0b", "\u2028"])
def test_blank_content_comes_as_it_is(blank):
    for offset, limit in ((0, 5), (0, 0), (7, 1)):
        assert cut(blank, offset, limit) == ReadResult(file_data=file(blank))


@pytest.mark.spec("BK-074", "BY-004")
def test_only_three_endings_end_a_line():
    assert cut("a\x0bb\nc\n", 0, 2) == ReadResult(None, file("a\x0bb\nc\n"), 2, 1, 2)
    exotic = "a\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029b"
    assert cut(f"{exotic}\nc", 0, 1).file_data["content"] == f"{exotic}\n"
    assert cut("a\r\nb\rc", 0, 9) == ReadResult(None, file("a\nb\nc"), 3, 1, 3)


@pytest.mark.spec("BK-076", "BK-054")
def test_other_keys_pass_through():
    stored = file("a\nb", created_at="c", modified_at="m")
    assert slice_read_response(stored, 0, 1).file_data == file("a\n", created_at="c", modified_at="m")
    assert stored["content"] == "a\nb"
    assert slice_read_response({"content": "a"}, 0, 1).file_data == file("a")


@pytest.mark.spec("BK-051")
def test_lists_of_lines_are_read():
    assert slice_read_response({"content": ["a", "b"]}, 1, 1).file_data == file("b")


@pytest.mark.spec("STB-013")
def test_binary_content_is_not_cut():
    stored = {"content": "AAAA\nBBBB", "encoding": "base64"}
    assert slice_read_response(stored, 1, 1) == ReadResult(file_data=stored)


text = st.text(alphabet="ab\n\r \x0b", max_size=30)


@pytest.mark.spec("BK-074", "BK-075")
@given(text, st.integers(0, 8), st.integers(1, 8))
def test_a_window_is_what_a_list_of_lines_says(content, offset, limit):
    lines = re.findall(r"[^\n]*\n|[^\n]+", to_lf(content))
    result = cut(content, offset, limit)
    if not content.strip():
        assert result == ReadResult(file_data=file(content))
    elif offset >= len(lines):
        assert result.error
    else:
        shown = lines[offset : offset + limit]
        end = offset + len(shown)
        following = end if end < len(lines) else None
        assert result == ReadResult(None, file("".join(shown)), len(lines), offset + 1, end, following)
        assert len(lines) == len(split_lines(content))


@pytest.mark.spec("BK-074")
@given(text, st.lists(st.integers(0, 30), max_size=6), st.integers(0, 5), st.integers(0, 5))
def test_pieces_make_no_difference(content, cuts, offset, limit):
    places = [0, *sorted(min(place, len(content)) for place in cuts), len(content)]
    window = LineWindow(offset, limit)
    for start, end in itertools.pairwise(places):
        window.feed(content[start:end])
    assert window.result(file("")) == cut(content, offset, limit)


@pytest.mark.spec("BK-074")
@pytest.mark.parametrize("place", range(7))
def test_an_ending_may_lie_between_two_pieces(place):
    window = LineWindow(1, 1)
    for piece in ("a\r\nb\r\n"[:place], "a\r\nb\r\n"[place:]):
        window.feed(piece)
    assert window.result(file("")) == ReadResult(None, file("b\n"), 2, 2, 2)


def test_paging_by_next_offset_gives_every_line_once():
    content = "".join(f"line {number}\r\n" for number in range(10)) + "last"
    offset, pages = 0, []
    while offset is not None:
        page = cut(content, offset, 3)
        pages.append(page.file_data["content"])
        offset = page.next_offset
    assert "".join(pages) == to_lf(content)
