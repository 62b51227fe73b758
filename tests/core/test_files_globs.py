"""The shared glob dialect."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.files.globs import InvalidGlobPatternError, compile_glob, compile_grep_include_glob

TREE = [
    ".github/workflows/ci.yml",
    ".hidden.py",
    ".hidden/x.py",
    "a.py",
    "sub/b.py",
    "sub/nested/c.py",
]


def hits(pattern, paths=TREE):
    matches = compile_grep_include_glob(pattern)
    assert [path for path in paths if compile_glob(pattern).matches(path)] == [
        path for path in paths if matches(path)
    ]
    return [path for path in paths if matches(path)]


@pytest.mark.spec("GLOB-001", "GLOB-006")
def test_a_pattern_without_slash_matches_names_at_any_depth():
    assert hits("*.py") == [".hidden/x.py", "a.py", "sub/b.py", "sub/nested/c.py"]
    assert hits(".*.py") == [".hidden.py"]
    assert hits("?hidden.py") == hits("[.]hidden.py") == []
    assert hits("c.py") == ["sub/nested/c.py"]


@pytest.mark.spec("GLOB-002", "GLOB-003")
def test_a_pattern_with_slash_matches_the_whole_path():
    assert hits("sub/*.py") == ["sub/b.py"]
    assert hits("nested/c.py") == []
    assert hits("/*.py") == hits("//*.py") == ["a.py"]
    assert hits("/sub/b.py") == ["sub/b.py"]


@pytest.mark.spec("GLOB-004", "GLOB-005", "GLOB-008")
def test_double_stars():
    assert hits("**/*.py") == ["a.py", "sub/b.py", "sub/nested/c.py"]
    assert hits("sub/**/c.py") == ["sub/nested/c.py"]
    assert hits("sub/**/b.py") == ["sub/b.py"]
    assert hits("sub/**") == ["sub/b.py", "sub/nested/c.py"]
    assert hits("a.py/**") == []
    assert hits("**.py") == hits("*.py")
    assert hits("**") == hits("*")
    assert hits("sub**/b.py") == ["sub/b.py"]
    assert hits("**/**/**/**/**/**/**/b.py") == ["sub/b.py"]


@pytest.mark.spec("GLOB-007")
def test_a_name_is_broader_than_a_recursive_pattern():
    assert hits("*.yml") == hits(".github/**/*.yml") == [".github/workflows/ci.yml"]
    assert hits("**/*.yml") == []


@pytest.mark.spec("GLOB-009", "GLOB-015")
def test_classes_and_escapes():
    assert hits("[ab].py") == hits("[a-b].py") == ["a.py", "sub/b.py"]
    assert hits("[!a].py") == hits("[^a].py") == [".hidden/x.py", "sub/b.py", "sub/nested/c.py"]
    assert hits("[[]z].py", ["[z].py", "z.py"]) == hits("\\[z\\].py", ["[z].py", "z.py"]) == ["[z].py"]


@pytest.mark.spec("GLOB-010")
def test_braces():
    assert hits("{a,b}.py") == ["a.py", "sub/b.py"]
    assert hits("{,sub/}b.py", ["b.py", "sub/b.py"]) == ["b.py", "sub/b.py"]
    assert hits("{a,{b,c}}.py") == ["a.py", "sub/b.py", "sub/nested/c.py"]
    assert hits("{a..c}.py") == ["a.py", "sub/b.py", "sub/nested/c.py"]
    assert hits("{a}.py", ["a.py", "{a}.py"]) == ["{a}.py"]
    assert hits("{1..3}{", ["2{", "2"]) == ["2{"]


@pytest.mark.spec("GLOB-011")
def test_braces_have_a_limit():
    numbers = ",".join(map(str, range(1001)))
    assert compile_glob("{" + numbers.rpartition(",")[0] + "}").matches("999")
    for pattern in ("{" + numbers + "}", "{1..100000000}", "{1..40}{1..40}"):
        with pytest.raises(InvalidGlobPatternError, match="more than 1000"):
            compile_glob(pattern)


@pytest.mark.spec("GLOB-012")
@pytest.mark.parametrize("pattern", ["../*.py", "a/../b", "..", "..\\*.py", "/.."])
def test_climbing_is_refused(pattern):
    with pytest.raises(ValueError, match="'\\.\\.' is not allowed"):
        compile_grep_include_glob(pattern)


@pytest.mark.spec("GLOB-013", "GLOB-014")
def test_malformed_and_extended_patterns_are_literal():
    assert hits("*.{py") == hits("[a-") == []
    assert hits("[a-", ["[a-"]) == ["[a-"]
    for pattern in ("!(a)", "+(a)", "@(a|b)", "!a", "~", "a|b"):
        assert hits(pattern, ["a", "b", "aa", pattern]) == [pattern]


@pytest.mark.spec("GLOB-016")
def test_slashes():
    assert hits("sub//b.py") == ["sub/b.py"]
    for pattern in ("./a.py", "", "/", "sub/", "*.py/", "*/", "**/"):
        assert hits(pattern) == []


@pytest.mark.spec("GLOB-017")
def test_case_and_spaces_count():
    assert hits("A.py") == []
    assert hits(" a", ["a", " a"]) == [" a"]
    assert hits("a ", ["a", "a "]) == ["a "]


def test_patterns_that_would_take_for_ever_are_refused_or_quick():
    with pytest.raises(InvalidGlobPatternError, match="more than 5"):
        compile_glob("/".join(["**", "a"] * 6))
    with pytest.raises(InvalidGlobPatternError, match="longer than"):
        compile_glob("a" * 10_001)
    assert not compile_glob("*a" * 30 + "b").matches("a" * 250)


def test_the_fixed_beginning_is_known():
    assert compile_glob("src/app/**/*.py").prefix == ("src", "app")
    assert compile_glob("/src/*.py").prefix == ("src",)
    assert (
        compile_glob("s[r]c/*.py").prefix == compile_glob("*.py").prefix == compile_glob("/a.py").prefix == ()
    )


def test_compiled_patterns_are_kept():
    assert compile_glob("*.kept") is compile_glob("*.kept")
    assert compile_grep_include_glob("*.kept") is compile_grep_include_glob("*.kept")
    assert compile_glob.cache_info().maxsize == compile_grep_include_glob.cache_info().maxsize == 256


segment = st.text(alphabet="ab.", min_size=1, max_size=3).filter(lambda name: name.strip("."))


@pytest.mark.spec("GLOB-004", "GLOB-006")
@given(st.lists(segment, min_size=1, max_size=4))
def test_recursion_means_no_hidden_segment(parts):
    path = "/".join(parts)
    assert compile_glob("**/*").matches(path) == (not any(part.startswith(".") for part in parts))
    assert compile_glob("*").matches(path) == (not parts[-1].startswith("."))


@given(st.text(alphabet="ab*?[]{},.!/\\|()~-^", max_size=15))
def test_any_pattern_compiles_or_is_refused(pattern):
    try:
        compile_glob(pattern).matches("a/b.b")
    except InvalidGlobPatternError:
        assert ".." in pattern or pattern.count("**") > 5
