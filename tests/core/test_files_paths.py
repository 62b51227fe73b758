"""The canonical spelling of paths, and the names that are refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.errors import DeepAgentsError
from deepagents_kernel.files.paths import (
    InvalidPathError,
    canonical_path,
    is_within,
    show_path,
    to_posix_path,
    validate_path,
)


@pytest.mark.spec("PATH-001", "PATH-002", "PATH-003")
@pytest.mark.parametrize(
    "path",
    [
        "/a/../b",
        "..",
        "../a",
        "/a/..",
        "a\\..\\b",
        "~",
        "~/x",
        "~root",
        "C:/x",
        "C:\\x",
        "c:rel",
        "x:y",
        "\\..\\a",
    ],
)
def test_refused_by_the_door_for_models(path):
    with pytest.raises(ValueError, match="Path '") as caught:
        validate_path(path)
    assert isinstance(caught.value, DeepAgentsError)
    assert caught.value.path == path


@pytest.mark.spec("PATH-001", "PATH-002", "PATH-003", "PATH-004")
@pytest.mark.parametrize(
    "path", ["/~/x", "/a/~", "/C:/x", "xy:z", "/foo..bar.txt", "/a/..b", "/...", "/a..", "/ a ", "/ünï/日本"]
)
def test_names_that_only_look_like_it_are_taken(path):
    assert validate_path(path) == f"/{path.lstrip('/')}"


@pytest.mark.spec("PATH-005", "PATH-006")
@pytest.mark.parametrize(
    ("path", "canonical"),
    [
        ("foo/bar", "/foo/bar"),
        ("/./foo//bar", "/foo/bar"),
        ("\\a\\b", "/a/b"),
        ("//a", "/a"),
        ("///a", "/a"),
        ("/a/", "/a"),
        ("/a/./", "/a"),
        ("", "/"),
        (".", "/"),
        ("./", "/"),
        ("/", "/"),
        ("//", "/"),
        ("/.", "/"),
    ],
)
def test_one_spelling(path, canonical):
    assert validate_path(path) == canonical


@pytest.mark.spec("PATH-007")
def test_prefixes_are_compared_by_component():
    assert validate_path("/data/f", allowed_prefixes=["/data"]) == "/data/f"
    assert validate_path("/data", allowed_prefixes=["/data/"]) == "/data"
    assert validate_path("/anything", allowed_prefixes=["/"]) == "/anything"
    for path, prefixes in (("/dataX/f", ["/data"]), ("/data", []), ("/", ["/data"]), ("/a", ["/b", "/c"])):
        with pytest.raises(ValueError, match="must be below one of"):
            validate_path(path, allowed_prefixes=prefixes)


@pytest.mark.spec("PATH-008", "BY-001")
@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("/a\0b", "U\\+0000"),
        ("/a\nb", "U\\+000A"),
        ("/a\x1b[2J", "U\\+001B"),
        ("/a\x7f", "U\\+007F"),
        ("/a\u2028b", "U\\+2028"),
        ("/\ud800", "U\\+D800"),
        ("/" + "x" * 256, "longer than 255 bytes"),
        ("/" + "é" * 128, "longer than 255 bytes"),
        ("/a" * 2100, "longer than 4096 bytes"),
    ],
)
def test_illegal_names_are_refused_in_words_that_can_be_shown(path, reason):
    for refuse in (validate_path, canonical_path):
        with pytest.raises(InvalidPathError, match=reason) as caught:
            refuse(path)
        text = str(caught.value)
        assert text.encode()
        assert text.isprintable()
        assert len(text) < 400


@pytest.mark.spec("PATH-008")
def test_lengths_at_the_limit_are_taken():
    assert validate_path("/" + "x" * 255) == "/" + "x" * 255


def test_backends_take_what_only_models_may_not_write():
    assert canonical_path("~x") == "/~x"
    assert canonical_path("C:/x") == "/C:/x"
    assert canonical_path("/a\\b") == "/a\\b"
    assert canonical_path(None) == "/"
    with pytest.raises(InvalidPathError, match="not int"):
        validate_path(3)


def test_small_helpers():
    assert to_posix_path("a\\b/c") == "a/b/c"
    assert show_path("/a\nb") == "'/a\\x0ab'"
    assert is_within("/a/b", "/a")
    assert is_within("/a", "/a")
    assert not is_within("/ab", "/a")


@pytest.mark.spec("PATH-005")
@given(st.text(alphabet="ab./\\~: ", max_size=20))
def test_canonical_means_canonical(path):
    try:
        once = validate_path(path)
    except InvalidPathError:
        return
    assert once.startswith("/")
    assert not {"", ".", ".."} & set(once.split("/")[1:]) or once == "/"
    assert validate_path(once) == once == canonical_path(once)
