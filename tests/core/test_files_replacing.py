"""Literal replacement."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from deepagents_kernel.files.replacing import EMPTY_OLD_STRING_ERROR, perform_string_replacement
from deepagents_kernel.files.text import to_lf


@pytest.mark.spec("BK-080")
def test_an_empty_old_string_is_an_error():
    assert perform_string_replacement("abc", "", "x") == EMPTY_OLD_STRING_ERROR


@pytest.mark.spec("BK-081")
def test_counting_and_replacing_are_literal():
    assert perform_string_replacement("aaa", "aa", "b", True) == ("ba", 1)
    assert perform_string_replacement("a.c abc", "a.c", "\\1", False) == ("\\1 abc", 1)
    assert perform_string_replacement("abab", "ab", "z", replace_all=True) == ("zz", 2)
    assert "not found" in perform_string_replacement("ABC", "abc", "x")


@pytest.mark.spec("BK-082", "BK-086")
def test_no_match_names_the_string():
    error = perform_string_replacement("  foo bar", "foo  bar", "x")
    assert "not found" in error
    assert "'foo  bar'" in error


@pytest.mark.spec("BK-083")
def test_a_missing_final_newline_is_explained():
    once = perform_string_replacement("bar\nfoo", "foo\n", "x")
    assert "without a final newline" in once
    assert "times" not in once
    twice = perform_string_replacement("foo bar foo", "foo\n", "x")
    assert "without a final newline" in twice
    assert "2 times" in twice
    for content, old in (("foo\n", "foo\n\n"), ("foo", "\n"), ("foo bar", "foo\n")):
        assert "final newline" not in perform_string_replacement(content, old, "x")


@pytest.mark.spec("BK-084")
def test_several_matches_need_replace_all():
    error = perform_string_replacement("abab", "ab", "z")
    assert "'ab'" in error
    assert "2 times" in error


@pytest.mark.spec("BK-085", "BY-008")
def test_nothing_to_change_is_an_error():
    for replace_all in (False, True):
        assert "nothing to change" in perform_string_replacement("abc", "b", "b", replace_all)
    assert "nothing to change" in perform_string_replacement("abc", "z", "z")


@pytest.mark.spec("BK-082", "BK-084")
def test_a_long_string_is_not_echoed_whole():
    long = "x" * 60_000
    for content in ("short", long * 2):
        error = perform_string_replacement(content, long, "y")
        assert "60000 characters" in error
        assert len(error) < 600


@pytest.mark.spec("BY-004", "BY-005")
@pytest.mark.parametrize(
    ("content", "old", "new", "result"),
    [
        ("a\r\nb\r\nc\r\n", "a\nb", "X\r\nY", "X\r\nY\r\nc\r\n"),
        ("a\r\nb\r\nc\r\n", "b", "B", "a\r\nB\r\nc\r\n"),
        ("a\r\nb\r\nc", "b\nc", "b\nx\ny", "a\r\nb\r\nx\r\ny"),
        ("a\nb\r\nc\n", "b\n", "b\nnew\n", "a\nb\r\nnew\nc\n"),
        ("a\nb\r\nc\n", "b\n", "x\ny\n", "a\nx\r\ny\r\nc\n"),
        ("a\rb\rc", "a\nb", "a\nx\nb", "a\rx\rb\rc"),
        ("a\r\nlast", "last", "one\ntwo", "a\r\none\r\ntwo"),
        ("\ufeffa\r\nb\r\n", "a\nb\n", "A\nb\n", "\ufeffA\r\nb\r\n"),
        ("a\nb\n", "a\r\nb\r\n", "x\r\ny\r\n", "x\ny\n"),
        ("a\r\nb\r\n", "a\nb\n", "", ""),
    ],
)
def test_endings_count_as_equal_and_untouched_ones_stay(content, old, new, result):
    assert perform_string_replacement(content, old, new) == (result, 1)


@pytest.mark.spec("BY-005")
def test_what_reads_the_same_is_the_same():
    assert perform_string_replacement("a\r\nb\nb\r\n", "b\n", "Q\n", True) == ("a\r\nQ\nQ\r\n", 2)


def test_changing_nothing_but_the_ending_is_taken_literally():
    assert perform_string_replacement("a\r\nb\n", "a\r\n", "a\n") == ("a\nb\n", 1)
    assert "not found" in perform_string_replacement("a\r\nb\n", "b\r\n", "b\n")


pieces = st.lists(st.sampled_from(["a", "b", "\n", "\r\n", "\r"]), max_size=12).map("".join)
needles = st.lists(st.sampled_from(["a", "b", "\n"]), min_size=1, max_size=3).map("".join)
news = st.lists(st.sampled_from(["a", "c", "\n"]), max_size=3).map("".join)


@pytest.mark.spec("BY-004", "BY-005", "BK-081")
@given(pieces, needles, news)
def test_the_lines_are_those_of_a_plain_replacement(content, old, new):
    assume(old != new)
    # A lone "\r" that ends up before a "\n" would read as one ending; plain texts don't do that.
    assume("\r" not in content.replace("\r\n", ""))
    result = perform_string_replacement(content, old, new, True)
    view = to_lf(content)
    if old not in view:
        assert isinstance(result, str)
        return
    changed, count = result
    assert (to_lf(changed), count) == (view.replace(old, new), view.count(old))
    if "\n" not in content.replace("\r\n", "") and "\r\n" in content:
        assert "\n" not in changed.replace("\r\n", "")
    if "\r" not in content:
        assert changed == content.replace(old, new)
