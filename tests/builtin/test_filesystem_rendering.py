"""How reads are shown and paged, how lists are cut, and what near misses say."""

import pytest

from deepagents_builtin.middleware.filesystem import constants
from deepagents_builtin.middleware.filesystem.listing import cut_lines, render_paths
from deepagents_builtin.middleware.filesystem.near_miss import near_miss
from deepagents_builtin.middleware.filesystem.rendering import render_read
from deepagents_kernel.contracts.results import ReadResult
from deepagents_kernel.files.file_data import create_file_data
from deepagents_kernel.files.formatting import check_empty_content
from deepagents_kernel.files.windows import slice_read_response

SEVEN = "".join(f"l{number}\n" for number in range(1, 8))
EMPTY = check_empty_content("")


def show(result, *, offset=0, limit=100, budget=None, path="/f"):
    return render_read(result, file_path=path, offset=offset, limit=limit, budget=budget)


def read(content, *, offset=0, limit=100, budget=None):
    """A read of a stored file."""
    result = slice_read_response(create_file_data(content), max(offset, 0), limit)
    return show(result, offset=offset, limit=limit, budget=budget)


def window(content, start=None, end=None, total=None, following=None, **more):
    """What a backend may answer."""
    return ReadResult(
        file_data=create_file_data(content),
        start_line=start,
        end_line=end,
        total_lines=total,
        next_offset=following,
        **more,
    )


# --- format ---------------------------------------------------------------------------------------


@pytest.mark.spec("PAG-001", "PAG-002")
def test_the_lines_stand_verbatim_below_one_header_line():
    content = "  @@ x @@\n\tl2 \n  3: l3\n'é'\\n\n"
    header, _, rest = read(content).text.partition("\n")
    assert header == "@@ lines 1-4 of 4 @@"
    assert rest == content.removesuffix("\n")


@pytest.mark.spec("PAG-003", "PAG-004")
@pytest.mark.parametrize(
    ("offset", "limit", "header"),
    [
        (0, 3, "@@ lines 1-3 of 7 | next offset 3 @@"),
        (3, 2, "@@ lines 4-5 of 7 | next offset 5 @@"),
        (5, 2, "@@ lines 6-7 of 7 @@"),
        (5, 50, "@@ lines 6-7 of 7 @@"),
        (0, 1, "@@ lines 1-1 of 7 | next offset 1 @@"),
        (6, 1, "@@ lines 7-7 of 7 @@"),
    ],
)
def test_the_header_of_a_window(offset, limit, header):
    assert read(SEVEN, offset=offset, limit=limit).text.split("\n")[0] == header


@pytest.mark.spec("PAG-003", "PAG-004")
def test_the_header_when_the_total_is_unknown():
    assert show(window("a\nb\n", 1, 2)).text.startswith("@@ lines 1-2 @@\n")
    assert show(window("a\nb\n", 1, 2, None, 2)).text.startswith("@@ lines 1-2 | next offset 2 @@\n")


@pytest.mark.spec("PAG-005", "PAG-006")
@pytest.mark.parametrize(
    "wrong",
    [
        {"start": 1, "end": 5, "following": 4},
        {"start": 1},
        {"end": 1},
        {"following": 3},
        {"total": 3},
        {"start": 0, "end": 1},
        {"start": 3, "end": 2},
        {"start": 1, "end": 5, "total": 4},
        {"start": 1, "end": 1, "no_lines_requested": True},
    ],
)
def test_a_window_that_would_skip_or_repeat_lines_is_refused(wrong):
    with pytest.raises(ValueError, match="ReadResult"):
        window("x", **wrong)


@pytest.mark.spec("PAG-007")
def test_there_is_no_next_offset_at_the_end():
    with pytest.raises(ValueError, match="past the last line"):
        window("a\nb\n", 1, 2, 2, 2)
    # A backend that slips one in anyway, after construction, doesn't send the model past the end.
    result = window("a\nb\n", 1, 2, 2)
    result.next_offset = 2
    assert show(result).text.startswith("@@ lines 1-2 of 2 @@\n")


@pytest.mark.spec("PAG-008")
@pytest.mark.parametrize(("offset", "header"), [(10, "@@ lines 11-12 @@"), (0, "@@ lines 1-2 @@")])
def test_without_a_window_the_header_follows_the_offset(offset, header):
    assert show(window("a\nb\n"), offset=offset).text == f"{header}\na\nb"


@pytest.mark.spec("PAG-008", "PAG-011")
def test_without_a_window_a_negative_offset_counts_as_the_start():
    assert show(window("a\nb\n"), offset=-4).text.split("\n")[1:] == ["@@ lines 1-2 @@", "a", "b"]


@pytest.mark.spec("PAG-009")
def test_blank_lines_are_kept_at_both_ends_of_a_window():
    result = read("a\n\n\n\nb\n", offset=1, limit=2)
    assert result.text == "@@ lines 2-3 of 5 | next offset 3 @@\n\n"
    assert show(window("a", 1, 3, 9, 3)).text == "@@ lines 1-3 of 9 | next offset 3 @@\na\n\n"
    assert show(window("a\nb\nc\n", 1, 1, 9, 1)).text.endswith("\na\nb\nc")


@pytest.mark.spec("PAG-010")
@pytest.mark.parametrize("offset", [7, 8, 10**12])
def test_an_offset_behind_the_end_is_an_error(offset):
    outcome = read(SEVEN, offset=offset)
    assert outcome.status == "error"
    assert outcome.text.startswith("Error: ")
    assert str(offset) in outcome.text
    assert "7 lines" in outcome.text


@pytest.mark.spec("PAG-011", "PAG-025")
def test_a_negative_offset_is_disclosed_above_the_header():
    note, header, *_ = read(SEVEN, offset=-3, limit=2).text.split("\n")
    assert "-3" in note
    assert header == "@@ lines 1-2 of 7 | next offset 2 @@"
    for offset in (0, 1):
        assert read(SEVEN, offset=offset).text.startswith("@@")
    clamped, size, header, *_ = read(SEVEN * 100, offset=-3, limit=500, budget=600).text.split("\n")
    assert "-3" in clamped
    assert "larger than one result" in size
    assert "truncated due to size" in header


# --- nothing to show ------------------------------------------------------------------------------


@pytest.mark.spec("PAG-012", "PAG-016")
@pytest.mark.parametrize("limit", [0, -5])
def test_no_lines_requested_is_not_an_empty_file(limit):
    outcome = read(SEVEN, limit=limit)
    assert outcome.status == "success"
    assert f"`limit` was {limit}" in outcome.text
    assert "may well have contents" in outcome.text
    assert "1 or more" in outcome.text
    assert "@@" not in outcome.text
    assert outcome.text != EMPTY


@pytest.mark.spec("PAG-013", "PAG-016")
@pytest.mark.parametrize("content", ["", "  \n\n", "\n", "\t"])
@pytest.mark.parametrize("limit", [0, 100])
def test_an_empty_file_is_said_to_be_empty_whatever_the_limit(content, limit):
    outcome = read(content, limit=limit)
    assert (outcome.status, outcome.text) == ("success", EMPTY)


@pytest.mark.spec("PAG-014")
def test_that_no_lines_were_requested_is_never_guessed():
    assert show(window(""), limit=0).text == EMPTY
    assert "`limit` was 0" in show(window("", no_lines_requested=True), limit=0).text
    assert show(window("  \n", no_lines_requested=True), limit=0).text == EMPTY


@pytest.mark.spec("PAG-015")
@pytest.mark.parametrize(
    ("result", "text"),
    [
        (window("\n\n", 1, 3, 3), EMPTY),
        (window("\n\n", 1, 3), "@@ lines 1-3 @@\n\n\n"),
        (window("\n\n", 2, 3, 3), "@@ lines 2-3 of 3 @@\n\n"),
        (window("\n\n", 1, 2, 3, 2), "@@ lines 1-2 of 3 | next offset 2 @@\n\n"),
        (window("  \n"), EMPTY),
    ],
)
def test_only_a_whole_file_is_called_empty(result, text):
    assert show(result).text == text


@pytest.mark.spec("PAG-017")
def test_an_empty_image_is_an_empty_file():
    result = ReadResult(file_data=create_file_data("", encoding="base64"))
    assert show(result, path="/a.png").text == EMPTY


def test_a_binary_file_is_not_shown_as_text():
    outcome = show(ReadResult(file_data=create_file_data("iVBORw==", encoding="base64")), path="/a.png")
    assert outcome.status == "error"
    assert "/a.png is not a text file" in outcome.text
    assert "iVBORw" not in outcome.text


# --- lines ----------------------------------------------------------------------------------------


@pytest.mark.spec("PAG-018")
def test_every_line_ending_is_shown_as_a_line_feed():
    assert read("a\r\nb\rc\nd").text == "@@ lines 1-4 of 4 @@\na\nb\nc\nd"
    assert show(window("a\r\nb\r\n", 1, 2, 2)).text == "@@ lines 1-2 of 2 @@\na\nb"


@pytest.mark.spec("PAG-026")
@pytest.mark.parametrize("char", list("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"))
def test_nothing_else_ends_a_line(char):
    content = f"p{char}q\nneedle\nz"
    assert read(content).text == f"@@ lines 1-3 of 3 @@\n{content}"
    assert read(content, offset=1, limit=1).text == "@@ lines 2-2 of 3 | next offset 2 @@\nneedle"


@pytest.mark.spec("PAG-019")
def test_the_limit_has_no_bound_of_its_own():
    content = "x\n" * 5000
    assert read(content, limit=10**9).text.startswith("@@ lines 1-5000 of 5000 @@\n")


@pytest.mark.spec("VIS-042")
def test_older_file_data_can_be_read():
    assert show(ReadResult(file_data={"content": ["a", "b"]})).text == "@@ lines 1-2 @@\na\nb"


def test_another_encoding_is_named_above_the_header():
    result = window("café\n", 1, 1, 1, source_encoding="latin-1")
    assert show(result).text == "[decoded from latin-1]\n@@ lines 1-1 of 1 @@\ncafé"


# --- size -----------------------------------------------------------------------------------------


@pytest.mark.spec("PAG-020")
def test_a_result_that_fits_is_left_alone():
    content = "x" * 50 + "\n"
    plain = read(content * 20).text
    assert read(content * 20, budget=len(plain)).text == plain
    assert read(content * 20, budget=None).text == plain
    cut = read(content * 20, budget=len(plain) - 1).text
    assert cut != plain
    assert len(cut) < len(plain)


@pytest.mark.spec("PAG-021")
def test_a_larger_one_is_cut_between_lines():
    text = read("".join(f"{number:050}\n" for number in range(20)), budget=800).text
    assert len(text) <= 800
    notice, header, *lines = text.split("\n")
    assert notice.startswith("[/f: ")
    assert "shorter lines" in notice
    assert header == f"@@ lines 1-{len(lines)} of 20 | next offset {len(lines)} | truncated due to size @@"
    assert lines == [f"{number:050}" for number in range(len(lines))]
    # Not one more would have fitted.
    assert len(text) + 51 > 800


@pytest.mark.spec("PAG-021")
def test_the_cut_counts_from_the_offset():
    text = read("".join(f"{number:050}\n" for number in range(40)), offset=10, limit=25, budget=800).text
    _, header, *lines = text.split("\n")
    last = 10 + len(lines)
    assert header == f"@@ lines 11-{last} of 40 | next offset {last} | truncated due to size @@"
    assert lines[-1] == f"{last - 1:050}"


@pytest.mark.spec("PAG-022")
def test_what_a_backend_adds_behind_the_window_is_no_line():
    lines = "".join(f"line {number}\n" for number in range(10))
    for remark in ("B" * 1000, "BBB\n" * 300):
        text = show(window(lines + remark, 1, 10, 99, 10), budget=1000).text
        assert "@@ lines 1-10 of 99 | next offset 10 | truncated due to size @@\nline 0\n" in text
        assert text.endswith("line 9")


@pytest.mark.spec("PAG-023", "BY-015")
def test_a_line_that_does_not_fit_is_cut_and_the_next_one_can_be_reached():
    text = read("x" * 2000 + "\ny", budget=800).text
    notice, header, line = text.split("\n")
    assert len(text) <= 800
    assert header == f"@@ lines 1-1 of 2 | next offset 1 | truncated mid-line | {len(line)} of 2000 chars @@"
    assert line == "x" * len(line)
    assert len(line) > 400
    assert "line 1 alone" in notice
    assert read("x" * 2000 + "\ny", offset=1, budget=800).text == "@@ lines 2-2 of 2 @@\ny"


@pytest.mark.spec("PAG-023")
def test_after_the_last_line_there_is_no_next_offset():
    header = read("y\n" + "x" * 2000, offset=1, budget=800).text.split("\n")[1]
    assert header.startswith("@@ lines 2-2 of 2 | truncated mid-line | ")


@pytest.mark.spec("PAG-024")
def test_notice_and_header_are_shown_even_if_nothing_else_fits():
    text = read("x" * 2000, budget=20).text
    assert text.endswith("| truncated mid-line | 0 of 2000 chars @@\n")
    assert len(text) > 20


# --- lists ----------------------------------------------------------------------------------------


@pytest.mark.spec("FS-042")
def test_a_list_is_shown_as_python_shows_it():
    paths = ["/a", "/it's", '/"q"', "/n\nl", "/\udc80"]
    assert render_paths(paths, 80_000) == repr(paths)
    assert render_paths([], 80_000) == "No files found"


@pytest.mark.spec("FS-043")
def test_a_list_is_cut_between_its_items_and_says_so_behind_it():
    paths = [f"/file-{number:04}" for number in range(1000)]
    assert render_paths(paths, sum(len(repr(path)) + 2 for path in paths)) == repr(paths)
    text = render_paths(paths, 500)
    listing, _, note = text.partition("\n\n")
    shown = len(listing.split(", "))
    assert listing == repr(paths[:shown])
    assert note == f"[{shown} of 1000 paths shown; ask for a narrower folder or pattern to see the others]"
    assert 500 - 15 < len(text) <= 500


@pytest.mark.spec("FS-084")
def test_text_is_cut_between_lines():
    text = "\n".join(f"/path/{number:04}" for number in range(1000))
    assert cut_lines(text, len(text)) == text
    *lines, _, note = cut_lines(text, 500).split("\n")
    assert lines == text.split("\n")[: len(lines)]
    assert note.startswith(f"[{len(lines)} of 1000 lines shown")
    assert len(cut_lines(text, 500)) <= 500


# --- near misses ----------------------------------------------------------------------------------

CODE = "def f():\n\treturn 1  \n\n\nclass A:\n    x = 1\n    y  =  2\n"


@pytest.mark.spec("BY-006")
@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ("    return 1", "line 2 has 1 tab in the file, 4 spaces in old_string"),
        ("def f():\n    return 1", "line 2 is indented by 1 tab in the file, 4 spaces in old_string"),
        ("\treturn 1\n\n\nclass A", "line 2 ends with 2 spaces in the file, nothing in old_string"),
        ("return 1  \n\nclass A", "at line 2 the file has 3 line breaks, old_string has 2 line breaks"),
        ("return 1  \nclass A", "at line 2 the file has 3 line breaks, old_string has 1 line break"),
        ("y = 2", "line 7 has 2 spaces in the file, 1 space in old_string, and 1 more like this"),
        ("class A:\n    x=1", "line 6 has 1 space in the file, nothing in old_string, and 1 more like this"),
        ("x = 1 \n", "line 6 ends with nothing in the file, 1 space in old_string"),
        ("class A: x = 1", "at line 5 the file has 1 line break, old_string has 1 space"),
        ("class A:\n      x = 1", "line 6 is indented by 4 spaces in the file, 6 spaces in old_string"),
        ("y  =  2\n\n", "at line 7 the file has 1 line break, old_string has 2 line breaks"),
        ("class\u00a0A", "line 5 has 1 space in the file, 1 U+00A0 in old_string"),
    ],
)
def test_a_near_miss_says_what_differs_and_where(wanted, said):
    assert wanted not in CODE
    assert said in near_miss(CODE, wanted)


@pytest.mark.spec("BY-006")
def test_a_near_miss_says_how_many_places_there_are():
    assert "(the first of 2 such places)" in near_miss("\ta\nb\n\ta\n", "  a\n")


@pytest.mark.spec("BY-006")
@pytest.mark.parametrize("wanted", ["return 1", "return 2", "", "  ", "\n", "nothing like it"])
def test_no_near_miss_where_there_is_none(wanted):
    assert near_miss(CODE, wanted) == ""


def test_a_missing_final_newline_is_no_near_miss():
    assert near_miss("a\nlast", "last\n") == ""


def test_the_fixed_texts_take_what_the_contract_says():
    assert "{limit}" in constants.NO_LINES_REQUESTED_WARNING
    assert "{file_path}" in constants.READ_FILE_TRUNCATION_MSG
