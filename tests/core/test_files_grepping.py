"""Literal search in lines, and how matches are shown."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.files.grepping import (
    build_grep_results_dict,
    format_grep_matches,
    grep_matches_from_files,
    matching_lines,
    regex_literal_hint,
)
from deepagents_kernel.files.text import to_lf


def files(**contents):
    return {
        f"/{name.replace('__', '/')}": {"content": text, "encoding": "utf-8"}
        for name, text in contents.items()
    }


def lines(result):
    return [(match["path"], match["line"], match["text"]) for match in result.matches]


@pytest.mark.spec("GREP-001", "GREP-002")
def test_a_literal_in_a_line():
    stored = files(a="x.y\nxzy\nX.Y\n")
    assert lines(grep_matches_from_files(stored, "x.y")) == [("/a", 1, "x.y")]
    assert lines(grep_matches_from_files(stored, "Y")) == [("/a", 3, "X.Y")]


@pytest.mark.spec("GREP-002", "GREP-007")
def test_lines_have_no_ending_and_the_numbers_of_read():
    stored = files(a="one\r\ntwo\rthree\x0bfour\nfive")
    assert lines(grep_matches_from_files(stored, "")) == [
        ("/a", 1, "one"),
        ("/a", 2, "two"),
        ("/a", 3, "three\x0bfour"),
        ("/a", 4, "five"),
    ]
    assert lines(grep_matches_from_files(files(a="a\x0bb\nc\n"), "c")) == [("/a", 2, "c")]


@pytest.mark.spec("GREP-003")
def test_a_path_is_a_file_or_a_folder():
    stored = files(sub__b="hit", subway="hit", top="hit")
    assert lines(grep_matches_from_files(stored, "hit", "/sub")) == [("/sub/b", 1, "hit")]
    assert lines(grep_matches_from_files(stored, "hit", "sub/b/")) == [("/sub/b", 1, "hit")]
    assert len(grep_matches_from_files(stored, "hit").matches) == 3
    assert grep_matches_from_files(stored, "hit", "/nowhere").matches == []


@pytest.mark.spec("GREP-004", "GLOB-012")
def test_an_include_filter_follows_the_shared_dialect():
    stored = {
        f"/{path}": {"content": "hit", "encoding": "utf-8"} for path in ("a.py", "d/b.py", "d/e/c.py", "d.md")
    }
    assert [match["path"] for match in grep_matches_from_files(stored, "hit", glob="/*.py").matches] == [
        "/a.py"
    ]
    assert [match["path"] for match in grep_matches_from_files(stored, "hit", "/d", "*.py").matches] == [
        "/d/b.py",
        "/d/e/c.py",
    ]
    assert [match["path"] for match in grep_matches_from_files(stored, "hit", "/d", "b.*").matches] == [
        "/d/b.py"
    ]
    assert len(grep_matches_from_files(stored, "hit", glob="").matches) == 4
    assert len(grep_matches_from_files(stored, "hit", "/a.py", "*.py").matches) == 1
    assert grep_matches_from_files(stored, "hit", "/a.py", "*.md").matches == []
    refused = grep_matches_from_files(stored, "hit", glob="../*")
    assert "not allowed" in refused.error
    assert not refused.matches


@pytest.mark.spec("GREP-005", "BK-026")
def test_the_cap_is_exact():
    stored = files(a="x\nx\n", b="x\nx\n")
    for cap, count, truncated in ((5, 4, False), (4, 4, False), (3, 3, True), (0, 0, True), (-1, 0, True)):
        result = grep_matches_from_files(stored, "x", max_count=cap)
        assert (len(result.matches), result.truncated) == (count, truncated)
    assert not grep_matches_from_files(stored, "none", max_count=0).truncated


@pytest.mark.spec("GREP-006", "BK-053")
def test_binary_files_are_passed_over_and_broken_ones_named():
    stored = {
        "/bin": {"content": "aGl0", "encoding": "base64"},
        "/broken": {"content": 3},
        "/none": None,
        "/list": {"content": ["a", "aGl0"]},
    }
    result = grep_matches_from_files(stored, "aGl0")
    assert lines(result) == [("/list", 2, "aGl0")]
    assert "'/broken'" in result.error
    assert "'/none'" in result.error


@pytest.mark.spec("GREP-007")
def test_files_come_in_their_stored_order():
    stored = files(z="x\nx", a="x")
    assert lines(grep_matches_from_files(stored, "x")) == [("/z", 1, "x"), ("/z", 2, "x"), ("/a", 1, "x")]


@pytest.mark.spec("GREP-008", "GREP-009")
def test_patterns_at_the_edges():
    assert grep_matches_from_files(files(a="a\nb"), "a\nb").matches == []
    assert lines(grep_matches_from_files(files(a="\n\nx"), "")) == [
        ("/a", 1, ""),
        ("/a", 2, ""),
        ("/a", 3, "x"),
    ]
    assert grep_matches_from_files(files(a=""), "").matches == []


def test_an_illegal_path_is_a_result():
    assert "U+0000" in grep_matches_from_files({}, "x", "/a\0").error


@pytest.mark.spec("GREP-001", "GREP-002", "GREP-009")
@given(st.text(alphabet="ab\n\r", max_size=30), st.text(alphabet="ab", max_size=3))
def test_matching_is_what_a_loop_over_lines_says(text, pattern):
    every = re.findall(r"([^\n]*)\n|([^\n]+)", to_lf(text))
    slow = [
        (number, one or other) for number, (one, other) in enumerate(every, 1) if pattern in (one or other)
    ]
    assert list(matching_lines(text, pattern)) == slow


MATCHES = [
    {"path": "/b", "line": 2, "text": "two"},
    {"path": "/a", "line": 1, "text": "one"},
    {"path": "/b", "line": 9, "text": "nine"},
]


@pytest.mark.spec("BK-091")
def test_matches_as_text():
    assert format_grep_matches([], "content") == "No matches found"
    assert format_grep_matches(MATCHES, "files_with_matches") == "/a\n/b"
    assert format_grep_matches(MATCHES, "count") == "/a: 1\n/b: 2"
    assert format_grep_matches(MATCHES, "content") == "/a:\n  1: one\n/b:\n  2: two\n  9: nine"
    assert build_grep_results_dict(MATCHES) == {"/b": [(2, "two"), (9, "nine")], "/a": [(1, "one")]}


@pytest.mark.spec("BK-092")
def test_matches_with_context_as_text():
    def match(line, before, after):
        def context(numbers):
            return [{"line": number, "text": f"l{number}"} for number in numbers]

        return {
            "path": "/a",
            "line": line,
            "text": f"hit{line}",
            "context_before": context(before),
            "context_after": context(after),
        }

    shown = format_grep_matches([match(2, [1], [3]), match(4, [3], [5]), match(9, [8], [])], "content")
    assert shown.splitlines() == [
        "/a:",
        "  1- l1",
        "  2: hit2",
        "  3- l3",
        "  4: hit4",
        "  5- l5",
        "  --",
        "  8- l8",
        "  9: hit9",
    ]


@pytest.mark.spec("BK-095")
def test_patterns_that_look_like_expressions():
    for pattern in ("a|b", "a.*b", "a.+", "\\w", "\\(", "\\$", "\\\\b"):
        assert regex_literal_hint(pattern)
    for pattern in ("a.b", "f(x)", "[a]", "^a$", "a*", "\\n", "C:\\temp"):
        assert regex_literal_hint(pattern) is None
