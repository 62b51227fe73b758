"""The pages under docs/behaviour claim exactly what tests prove, each statement in one place."""

import collections
import re

from pages import ROOT, code_blocks, read, rows, spec_tags, statements

ID = re.compile(r"[A-Z]{2,6}-[0-9]{3}")
TAGS = spec_tags()
STATEMENTS = statements()


def test_ids_are_well_formed():
    named = {tag for tags in TAGS.values() for tag in tags} | {found for found, _ in STATEMENTS}
    assert [tag for tag in sorted(named) if not ID.fullmatch(tag)] == []


def test_a_test_names_five_at_most():
    assert {test: tags for test, tags in TAGS.items() if len(tags) > 5} == {}


def test_every_id_that_a_test_names_is_on_a_page():
    written = {found for found, _ in STATEMENTS}
    missing = {tag: test for test, tags in TAGS.items() for tag in tags if tag not in written}
    assert missing == {}


def test_every_id_on_a_page_is_named_by_a_test():
    proven = {tag for tags in TAGS.values() for tag in tags}
    assert [item for item in STATEMENTS if item[0] not in proven] == []


def test_an_id_stands_on_one_page_once():
    count = collections.Counter(found for found, _ in STATEMENTS)
    twice = {found for found, number in count.items() if number > 1}
    assert [item for item in STATEMENTS if item[0] in twice] == []


def test_a_statement_says_something():
    short = []
    for page in (ROOT / "docs/behaviour").glob("*.md"):
        # A statement may run over several lines; those that follow are indented.
        for found, text in re.findall(
            r"^- \*\*(\S+)\*\* ?(.*(?:\n  .*)*)", page.read_text("utf-8"), re.MULTILINE
        ):
            if not re.search(r"\w.*[.)`:]$", text.strip()):
                short.append((page.name, found, text))
    assert short == []


def test_what_a_page_refers_to_is_there():
    written = {found for found, _ in STATEMENTS}
    areas = "|".join({found.partition("-")[0] for found in written})
    pages = [*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    mentioned = {
        found for page in pages for found in re.findall(rf"\b(?:{areas})-[0-9]+", page.read_text("utf-8"))
    }
    assert mentioned - written == set()


def test_the_index_lists_every_page():
    listed = re.findall(r"\]\((.+?)\)", "".join(row[0] for row in rows(read("docs/behaviour/README.md"))))
    pages = {path.name for path in (ROOT / "docs/behaviour").glob("*.md")} - {"README.md"}
    assert sorted(listed) == sorted(pages)
    assert list(code_blocks(read("docs/behaviour/README.md"), "text"))
