"""Variables in the values of a configuration file."""

from __future__ import annotations

import pytest

from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.expand import Expander

ENVIRON = {"A": "1", "EMPTY": "", "NESTED": "${A}", "_x9": "low"}


def fault(key, reason, hint):
    return ConfigError("file", reason, hint, key=".".join(key))


def expanded(value):
    expander = Expander(ENVIRON, fault)
    return expander.value(value, ("key",)), expander.used


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("plain", "plain"),
        ("${A}", "1"),
        ("x${A}y${A}z", "x1y1z"),
        ("${_x9}", "low"),
        ("${EMPTY}", ""),
        ("${EMPTY:-text}", "text"),
        ("${A:-text}", "1"),
        ("${B:-text}", "text"),
        ("${B:-}", ""),
        ("${B:-a:-b $x}", "a:-b $x"),
        ("${NESTED}", "${A}"),
        ("$${A}", "${A}"),
        ("$$${A}", "$${A}"),
        ("$${", "${"),
        ("$A $ $$ {A} $$A", "$A $ $$ {A} $$A"),
        ("${B:-x\ny}", "x\ny"),
    ],
)
def test_a_text(text, result):
    assert expanded(text)[0] == result


@pytest.mark.parametrize("text", ["${}", "${A", "${1A}", "${A-b}", "${A:?b}", "${A }", "a ${", "${B:-${A}}"])
def test_what_begins_like_a_variable_and_is_none(text):
    with pytest.raises(ConfigError, match=r"file: key: what begins with \$\{ has to be a variable") as caught:
        expanded(text)
    assert caught.value.hint == "$${ stands for ${ itself"


def test_a_variable_that_is_not_set():
    with pytest.raises(ConfigError) as caught:
        expanded("${A} ${MISSING}")
    assert caught.value.reason == "the environment variable MISSING is not set"
    assert caught.value.hint == "set it, or give a text to use instead: ${MISSING:-text}"


def test_texts_in_lists_and_tables_and_nothing_else():
    value = {"a": ["${A}", 1, ["${NESTED}"], {"${A}": "${_x9}"}], "b": {"c": "${B:-x}"}, "d": 1.5, "e": True}
    found, used = expanded(value)
    assert found == {"a": ["1", 1, ["${A}"], {"${A}": "low"}], "b": {"c": "x"}, "d": 1.5, "e": True}
    assert used == {("key", "a"): ("A", "NESTED", "_x9"), ("key", "b", "c"): ("B",)}


def test_a_literal_uses_no_variable():
    assert expanded("$${A}")[1] == {}
