"""Backend strings: what is a path, what is an option, and what each mistake is answered with."""

from __future__ import annotations

import os

import pytest
import tiny
from attrs import field, frozen
from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel import BackendSpec, Kernel
from deepagents_kernel.assembly.resolve_backend import parse_backend
from deepagents_kernel.contracts.backend import BackendProtocol
from deepagents_kernel.contracts.backend_spec import quote_path
from deepagents_kernel.errors import BackendSpecError


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "w").mkdir()
    return tmp_path


def refusal(text, kernel=None):
    with pytest.raises(BackendSpecError) as caught:
        (kernel or Kernel()).resolve_backend(text)
    assert caught.value.spec == text or not text.startswith("filesystem:w?")
    return str(caught.value)


@given(st.text())
def test_a_quoted_path_is_read_back_as_it_was(path):
    address = parse_backend(f"files:{quote_path(path)}?a=1")
    assert (address.scheme, address.path, address.options) == ("files", path, {"a": "1"})


@pytest.mark.parametrize("name", ["a?b", "100%", "a%3Fb", "a#b", "a b+c"])
def test_a_folder_of_any_name_can_be_named(folder, name):
    (folder / name).mkdir()
    assert Kernel().resolve_backend(f"filesystem:{quote_path(name)}").cwd == folder / name


def test_a_name_that_is_not_utf8_can_be_named(folder):
    (folder / os.fsdecode(b"\xff")).mkdir()
    assert os.fsencode(Kernel().resolve_backend("filesystem:%FF").cwd).endswith(b"/\xff")


def test_a_path_that_the_system_refuses_is_one_error(folder):
    for path, reason in (("x" * 300, "name too long"), ("y\0z", "no folder 'y\\x00z'")):
        text = refusal(f"filesystem:{path}")
        assert reason in text.lower()
        text.encode()


def test_a_question_mark_in_a_path_is_explained(folder):
    text = refusal("filesystem:w?1")
    assert "option '1': no such setting" in text
    assert "'?' are options" in text
    assert "%3F" in text
    assert "nearest: max_file_size_mb" in refusal("filesystem:w?max_file_sizemb=1")
    assert "%3F" not in refusal("filesystem:w?max_file_size_mb=many")


def test_an_option_without_a_name_is_not_called_by_another(folder):
    text = refusal("filesystem:w?=3")
    assert "an option has no name" in text
    assert "option 'filesystem'" not in text


def test_an_option_is_called_by_its_whole_name():
    @frozen
    class Options:
        size: int = field(default=1)
        least: int = field(default=0)

        def __attrs_post_init__(self):
            if self.least > self.size:
                raise ValueError("least is above size")

    spec = BackendSpec("own", lambda _path, _options: BackendProtocol(), options=Options)
    kernel = tiny.kernel({"backend.own": tiny.plugin(deepagents_backends=lambda: spec)})
    assert "option 'a.b': no such" in refusal("own:?a.b=1", kernel)
    text = refusal("own:?size=3&least=4", kernel)
    assert "option 'own'" not in text


@pytest.mark.parametrize("text", ["./w", "w", "/nowhere/at/all", "../w", "."])
def test_a_bare_path_is_answered_with_the_whole_string(folder, text):
    assert f"write 'filesystem:{text}'" in refusal(text)


def test_what_is_written_for_a_bare_path_works(folder):
    (folder / "a?b").mkdir()
    assert "write 'filesystem:a%3Fb'" in refusal("a?b")
    assert "write 'filesystem:./w?encoding=latin-1'" in refusal("./w?encoding=latin-1")
    # A kernel without that backend does not offer it.
    text = refusal("./w", tiny.kernel())
    assert "filesystem" not in text
    assert "backends: tiny" in text


def test_other_words_are_answered_with_the_nearest_name(folder):
    text = refusal("stat")
    assert "nearest: state" in text
    assert "write" not in text
