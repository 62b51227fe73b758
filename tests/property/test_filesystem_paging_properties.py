"""Paging through a file shows every line once, whatever the limit and the size of a result."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from deepagents_builtin.middleware.filesystem.listing import cut_lines, render_paths
from deepagents_builtin.middleware.filesystem.near_miss import near_miss
from deepagents_builtin.middleware.filesystem.rendering import render_read
from deepagents_kernel.contracts.results import ReadResult
from deepagents_kernel.files.file_data import create_file_data
from deepagents_kernel.files.text import split_lines
from deepagents_kernel.files.windows import slice_read_response

HEADER = re.compile(
    r"^@@ lines (\d+)-(\d+)(?: of (\d+))?(?: \| next offset (\d+))?"
    r"(?: \| truncated due to size)?(?: \| truncated mid-line \| (\d+) of (\d+) chars)? @@$"
)
LINES = st.lists(
    st.text(st.sampled_from("ab @|\t\u2028\x0c"), max_size=30)
    | st.text(st.just("x"), min_size=200, max_size=900),
    min_size=1,
    max_size=30,
)
ENDINGS = st.sampled_from(["\n", "\r\n", "\r"])
LIMITS = st.integers(1, 40)
BUDGETS = st.none() | st.integers(1, 2500)


def without_total(result):
    """The same window from a backend that doesn't know how long the file is."""
    following = result.next_offset
    return ReadResult(
        file_data=result.file_data,
        start_line=result.start_line,
        end_line=result.end_line,
        next_offset=following,
    )


def page(content, offset, limit, budget, *, total):
    result = slice_read_response(create_file_data(content), offset, limit)
    assert result.error is None
    outcome = render_read(
        result if total else without_total(result), file_path="/f", offset=offset, limit=limit, budget=budget
    )
    assert outcome.status == "success"
    rows = outcome.text.split("\n")
    at = next(number for number, row in enumerate(rows) if not row.startswith("["))
    header = HEADER.match(rows[at])
    assert header, rows[at]
    return outcome.text, header, rows[at + 1 :]


@pytest.mark.spec("PAG-004", "PAG-021", "PAG-023")
@settings(max_examples=300, deadline=None)
@given(lines=LINES, ending=ENDINGS, closed=st.booleans(), limit=LIMITS, budget=BUDGETS, total=st.booleans())
@example(lines=["", "", "a", ""], ending="\n", closed=True, limit=1, budget=None, total=False)
@example(lines=["x" * 900, "a"], ending="\n", closed=False, limit=5, budget=300, total=True)
def test_every_line_is_shown_exactly_once(lines, ending, closed, limit, budget, total):
    content = ending.join(lines) + (ending if closed else "")
    expected = split_lines(content)
    if not content.strip():
        return
    offset, seen = 0, []
    while True:
        text, header, rows = page(content, offset, limit, budget, total=total)
        first, last = int(header[1]), int(header[2])
        assert first == offset + 1
        assert last - first + 1 == len(rows) <= limit
        if total:
            assert int(header[3]) == len(expected)
        if header[5]:
            assert len(rows) == 1
            assert (int(header[5]), int(header[6])) == (len(rows[0]), len(expected[offset]))
            assert expected[offset].startswith(rows[0])
            rows = [expected[offset]]
        elif budget is not None:
            assert len(text) <= budget
        seen += rows
        if header[4] is None:
            break
        assert int(header[4]) == last
        offset = last
    assert seen == expected


@pytest.mark.spec("FS-042", "FS-043")
@settings(deadline=None)
@given(paths=st.lists(st.text(max_size=20), max_size=40), limit=st.integers(150, 900))
def test_a_cut_list_holds_whole_paths_only(paths, limit):
    text = render_paths(paths, limit)
    listing = text.split("\n\n[")[0]
    assert len(text) <= max(limit, len("No files found"))
    if paths:
        assert listing in {repr(paths[:count]) for count in range(len(paths) + 1)}


@pytest.mark.spec("FS-084")
@settings(deadline=None)
@given(text=st.text(st.sampled_from("ab\n"), max_size=600), limit=st.integers(120, 400))
def test_a_cut_text_holds_whole_lines_only(text, limit):
    cut = cut_lines(text, limit)
    assert len(cut) <= limit
    assert cut == text or text.startswith(cut[: cut.rindex("\n\n[") + 1] or "\n") or cut.startswith("\n[0 of")


BLANKS = st.text(st.sampled_from(" \t\n"), max_size=4)


@pytest.mark.spec("BY-006")
@settings(max_examples=200, deadline=None)
@given(words=st.lists(st.sampled_from(["a", "bc", "def"]), min_size=1, max_size=6), data=st.data())
def test_a_hint_is_given_exactly_where_only_whitespace_differs(words, data):
    def spaced():
        return "".join(f"{data.draw(BLANKS)}{word}" for word in words) + data.draw(BLANKS)

    content, wanted = spaced(), spaced()
    hint = near_miss(content, wanted)
    if wanted in content:
        assert hint == ""
    elif not (wanted.endswith("\n") and content.endswith(words[-1])):
        # That one case is left to the backend, whose error explains a missing final newline.
        assert hint.startswith("Nearly the same text is there")
    assert near_miss(content, f"{wanted}zzz") == ""
