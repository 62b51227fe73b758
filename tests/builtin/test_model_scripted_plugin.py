"""The ``scripted:PATH`` model string."""

import json

import pytest
from langchain_core.messages import HumanMessage

from deepagents_builtin.models.scripted.plugin import PLUGIN, deepagents_resolve_model
from deepagents_builtin.models.scripted.turns import ScriptedTurnError
from deepagents_kernel.errors import ModelSpecError
from deepagents_kernel.testing import ScriptedChatModel

ITEMS = [
    {"tool_calls": [{"name": "ls", "args": {"path": "/"}}, {"name": "ls"}]},
    {"text": "both", "tool_calls": [{"name": "ls", "args": {}}]},
    {"error": "rate limit"},
    {"text": "ä done"},
]


def load(path):
    return deepagents_resolve_model(spec=f"scripted:{path}")


def written(tmp_path, text, name="turns.jsonl"):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        json.dumps(ITEMS),
        json.dumps(ITEMS, indent=2, ensure_ascii=False),
        "\n".join(json.dumps(item) for item in ITEMS),
        "\n\n".join(json.dumps(item, indent=1) for item in ITEMS) + "\n",
        "\ufeff" + json.dumps(ITEMS),
    ],
    ids=["list", "indented-list", "lines", "indented-objects", "bom"],
)
def test_plays_the_turns_in_a_file(tmp_path, text):
    model = load(written(tmp_path, text))
    assert isinstance(model, ScriptedChatModel)
    first = model.invoke("x")
    assert [(call["name"], call["args"], call["id"]) for call in first.tool_calls] == [
        ("ls", {"path": "/"}, "call_1"),
        ("ls", {}, "call_2"),
    ]
    second = model.invoke("x")
    assert second.text == "both"
    assert second.tool_calls[0]["id"]
    with pytest.raises(ScriptedTurnError, match="rate limit"):
        model.invoke([HumanMessage("x")])
    assert model.invoke("x").text == "ä done"
    assert model.turns_left == 0


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ('{"text": "a"}\n{"text": }', 2, "not JSON"),
        ('{"text": "a"}\n\n{"texd": "b"}', 3, "unknown key 'texd'"),
        ('[\n{"text": "a"}\n{"text": "b"}]', 2, "comma"),
        ('[\n{"text": "a"},\n', 3, "no end"),
        ('[{"text": "a"}]\n\nmore', 3, "behind the list"),
        ('{"text": "a"}\n3', 2, "3 is no turn"),
        ('{"text": "a"}\n{}', 2, "{} is no turn"),
        ('{"text": 3}', 1, "'text' must be a text"),
        ('{"error": "x", "text": "y"}', 1, "nothing else"),
        ('{"tool_calls": []}', 1, "list of calls"),
        ('{"tool_calls": [{"args": {}}]}', 1, "'name' must be a text"),
        ('{"tool_calls": [{"name": "ls", "args": [1]}]}', 1, "'args' must be an object"),
        ('{"tool_calls": [{"name": "ls", "arguments": {}}]}', 1, "unknown key 'arguments'"),
        ("", 1, "no turns"),
        ("[]", 1, "no turns"),
        ('{"text": "ok"}\n{"text": "\xe4"}'.encode("latin-1"), 2, "not UTF-8"),
        ("[" * 100_000, 1, ""),
    ],
)
def test_a_bad_file_is_refused_with_file_and_line(tmp_path, text, line, reason):
    path = written(tmp_path, text)
    with pytest.raises(ModelSpecError) as caught:
        load(path)
    assert f"{path}, line {line}: " in caught.value.reason
    assert reason in caught.value.reason
    assert caught.value.hint


def test_an_unknown_key_names_the_nearest(tmp_path):
    with pytest.raises(ModelSpecError, match="nearest: tool_calls"):
        load(written(tmp_path, '{"tool_call": []}'))


def test_a_missing_file_and_a_folder_are_named(tmp_path):
    for path in (tmp_path / "absent.json", tmp_path):
        with pytest.raises(ModelSpecError, match="can't be read") as caught:
            load(path)
        assert str(path) in str(caught.value)


@pytest.mark.parametrize("spec", ["scripted", "scripted:", "scripted: "])
def test_without_a_file_it_says_what_to_write(spec):
    with pytest.raises(ModelSpecError, match=r"write: scripted:turns\.jsonl"):
        deepagents_resolve_model(spec=spec)


def test_relative_paths_start_in_the_working_directory(tmp_path, monkeypatch):
    written(tmp_path, '{"text": "here"}', "turns.json")
    monkeypatch.chdir(tmp_path)
    assert load("turns.json").invoke("x").text == "here"


@pytest.mark.parametrize("spec", ["openai:gpt-5.4", "offline", "scripted-x:y", ""])
def test_other_strings_are_left_to_other_plugins(spec):
    assert deepagents_resolve_model(spec=spec) is None


def test_it_has_a_summary():
    assert "scripted:PATH" in PLUGIN.summary
