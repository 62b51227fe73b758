"""Line numbers of keys in TOML texts, in every form that TOML has for a key."""

from __future__ import annotations

import pytest

from deepagents_kernel.config.lines import index_lines, line_of

TEXT = '''\
# [plugins] in a comment
title = """
[plugins]
enable = ["not here"]
"""
"quoted key" = 1 # with "enable" behind it
a.b.c = 2
a . "b.d" = 3

[plugins] # "one"
enable = ["one", 'two'] # three
disable = [
  # "one" in a comment
  "one", "two",
  """three""", # "four"
  'four',

  "f\\u0069ve"
]
inline = { "one" = ["one", "two"], list = [
  "one",
], other = ["two"], text = "]" }

[plugin."middleware.files"]
read_limit = 3
[plugin."middleware.files".nested]
x = \'\'\'
y = 1
\'\'\'

[[rules]]
x = 1
[[rules]]
x = 2
[tail]
last = [ [1, 2],
  [3]]
'''

LINES = {
    ("title",): 2,
    ("quoted key",): 6,
    ("a",): 7,
    ("a", "b"): 7,
    ("a", "b", "c"): 7,
    ("a", "b.d"): 8,
    ("plugins",): 10,
    ("plugins", "enable"): 11,
    ("plugins", "enable", "one"): 11,
    ("plugins", "enable", "two"): 11,
    ("plugins", "enable", "three"): None,
    ("plugins", "disable"): 12,
    ("plugins", "disable", "one"): 14,
    ("plugins", "disable", "two"): 14,
    ("plugins", "disable", "three"): 15,
    ("plugins", "disable", "four"): 16,
    ("plugins", "disable", "five"): 18,
    ("plugins", "disable", "six"): None,
    ("plugins", "inline"): 20,
    ("plugins", "inline", "one"): 20,
    ("plugins", "inline", "one", "two"): 20,
    ("plugins", "inline", "list", "one"): 21,
    ("plugins", "inline", "other", "two"): 22,
    ("plugins", "inline", "text", "]"): None,
    ("plugin",): 24,
    ("plugin", "middleware.files"): 24,
    ("plugin", "middleware.files", "read_limit"): 25,
    ("plugin", "middleware.files", "nested"): 26,
    ("plugin", "middleware.files", "nested", "x"): 27,
    ("plugin", "middleware.files", "nested", "y"): None,
    ("rules",): 31,
    ("rules", "x"): None,
    ("tail",): 35,
    ("tail", "last"): 36,
    ("tail", "last", "3"): None,
    ("nothing",): None,
    ("nothing", "at", "all"): None,
    (): None,
}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(("key", "line"), LINES.items())
def test_the_line_of_a_key_or_an_entry(key, line, end):
    assert line_of(index_lines(TEXT.replace("\n", end)), key) == line


def test_a_key_that_reads_like_the_entry_is_not_the_entry():
    assert line_of(index_lines('"x" = [\n  "x",\n]\n'), ("x", "x")) == 2
    assert line_of(index_lines('a = { "y" = ["x"], "x" = [\n"y",\n"x"]}\n'), ("a", "x", "x")) == 3


def test_blanks_around_a_name_do_not_count():
    index = index_lines('x = [\n"  a ",\n"b"]')
    assert line_of(index, ("x", "a")) == 2
    assert line_of(index, ("x", " b ")) == 3


@pytest.mark.parametrize("end", ["", "\n", "\n\n# end", "\r\n"])
def test_the_last_line_may_end_in_any_way(end):
    assert line_of(index_lines(f"a = 1\nb = 2{end}"), ("b",)) == 2


@pytest.mark.parametrize(
    "quotes", ['""""""', "''''''", '""""a"""', '"""a"""""', "'''a'''''", '"""\\""""', '["""a"""", "]"]']
)
def test_quotes_at_the_edges_of_long_strings(quotes):
    assert line_of(index_lines(f"a = {quotes}\nb = ['c']\nd = 1\n"), ("d",)) == 3


@pytest.mark.parametrize(
    "text", ["a = ", "a = [1", "]", "'", '"""', "[a\nb = 1", "a = 1\na = '", "x" * 99, "\0"]
)
def test_a_text_that_is_not_toml_has_no_lines(text):
    assert line_of(index_lines(text), ("a", "b")) is None


def test_values_that_are_nested_without_end_have_no_lines():
    assert index_lines("a = " + "[" * 9000) == {}
    assert index_lines("a" + ".b" * 9000 + " = 1") == {}


def test_a_long_list_and_a_long_file():
    names = "\n".join(f'  "name-{number}",' for number in range(3000))
    keys = "\n".join(f"key-{number} = {number}" for number in range(3000))
    index = index_lines(f"list = [\n{names}\n]\n{keys}\n")
    assert line_of(index, ("list", "name-2999")) == 3001
    assert line_of(index, ("key-2999",)) == 6002
