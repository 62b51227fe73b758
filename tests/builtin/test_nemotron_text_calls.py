"""Tool calls that Nemotron writes as text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from langchain_core.tools import tool

from deepagents_builtin.profiles.harness.nemotron.argument_types import parameter_schemas, typed
from deepagents_builtin.profiles.harness.nemotron.text_tool_calls import NemotronTextToolCallParser
from deepagents_kernel import Kernel, create_deep_agent
from deepagents_kernel.testing import ScriptedChatModel

KERNEL = Kernel()


@tool
def search_orders(query: str, limit: int = 5, urgent: bool = False, tags: list[str] | None = None) -> str:
    """Search orders."""
    return json.dumps([query, limit, urgent, tags])


@tool
def send_email(to: str) -> str:
    """Send it."""
    return "sent"


@tool
def execute(command: str) -> str:
    """Run it."""
    return command


@tool
def ls(path: str) -> str:
    """List it."""
    return path


TOOLS = [search_orders, send_email, execute, ls]


def parsed(text, tools=TOOLS, message=None, **options):
    return NemotronTextToolCallParser(**options).parsed(message or AIMessage(text), tools)


def calls(text, **options):
    return [(call["name"], call["args"]) for call in parsed(text, **options).tool_calls]


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize(
    "text",
    [
        "<function=ls><parameter name=path>/a</parameter></function>",
        '<function=ls>\n<parameter name="path">\n/a\n</parameter>\n</function>',
        "<function=ls>\n<parameter=path>\n/a\n</parameter>\n</function>",
        '<function="ls"><parameter="path">/a</parameter></function>',
        "<function><name>ls</name><parameter>path: /a</parameter></function>",
        "<function>\n<name> ls </name>\n<parameter name=path>/a</parameter>\n</function>",
        "<function><name>ls</name><parameter=path>/a</parameter></function>",
        '{"tool": "ls", "args": {"path": "/a"}}',
        '```json\n{"tool": "ls", "args": {"path": "/a"}}\n```',
    ],
)
def test_the_forms(text):
    assert calls(text) == [("ls", {"path": "/a"})]


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize(
    "text",
    [
        'For example {"tool": "ls", "args": {"path": "/a"}} lists it.',
        '{"tool": "ls", "args": {"path": "/a"}} shows it',
        '{"tool": "ls", "args": "/a"}',
        '{"tool": "ls"}',
        '{"tool": "ls", "args": {"path": "/a"}',
        '{"name": "ls", "args": {"path": "/a"}}',
        '{"tool": ' + "[" * 100_000 + "}",
    ],
)
def test_json_in_prose_is_no_call(text):
    message = AIMessage(text)
    assert parsed(text, message=message) is message


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ('{"tool": "bash", "cmd": "ls"}', "execute"),
        ('{"tool": "shell", "command": "ls"}', "execute"),
        ('{"tool": "sh", "args": {"command": "ls"}}', "execute"),
        ('{"tool": "send_email", "args": {"to": "x"}}', "send_email"),
    ],
)
def test_json_changes_nothing_without_approval(text, name):
    assert calls(text) == []
    ((found, args),) = calls(text, approved_tools={name})
    assert found == name
    assert args in ({"command": "ls"}, {"to": "x"})


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize("name", ["write_file", "edit_file", "delete", "task"])
def test_json_never_changes_files_or_delegates(name):
    text = json.dumps({"tool": name, "args": {}})
    assert calls(text, tools=[{"name": name}]) == []


MAIL = "<function=send_email><parameter=to>boss</parameter></function>"
LOOK = "<function=ls><parameter=path>/a</parameter></function>"


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize("call", [MAIL, LOOK])
@pytest.mark.parametrize(
    "text",
    [
        "I would run `{}` but won't without your word.",
        "It is this: `{}`",
        "Like so: `` {} ``",
        "Like this:\n```\n{}\n```",
        "Like this:\n```xml\n{}\n```\nShall I?",
        "~~~\n{}\n~~~",
        "1. So:\n   ````\n   ```\n   {}\n   ````",
        "Left open:\n```\n{}",
        "> {}",
        "You wrote:\n  >> run {}",
    ],
)
@pytest.mark.parametrize("approved", [(), ("send_email",)])
def test_a_call_in_a_quotation_is_no_call(text, call, approved):
    message = AIMessage(text.format(call))
    assert parsed("", message=message, approved_tools=approved) is message


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize(
    "text",
    [
        "I would run {} but won't without your word.",
        "{}\nShall I send it?",
        '"{}"',
        "{} `" + LOOK + "` is what you want?",
    ],
)
def test_a_change_is_only_called_where_the_answer_ends(text):
    assert calls(text.format(MAIL)) == []
    assert calls(text.format(MAIL), approved_tools={"send_email"}) == [("send_email", {"to": "boss"})]
    assert calls(text.format(LOOK)) == [("ls", {"path": "/a"})]


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize("name", ["send_email", "execute", "write_file", "edit_file", "delete", "task"])
def test_a_changing_tool_in_prose(name):
    block, tools = f"<function={name}></function>", [{"name": name}]
    assert calls(f"I could {block} here.", tools=tools) == []
    assert calls(f"I do it now.\n<tool_call>\n{block}\n</tool_call>\n", tools=tools) == [(name, {})]


@pytest.mark.spec("NEMO-075")
def test_calls_that_end_an_answer_together():
    assert [name for name, _ in calls(f"Now:\n{MAIL}\n{LOOK} {MAIL}\n")] == ["send_email", "ls", "send_email"]
    message = parsed(f"{MAIL} first, or {LOOK}")
    assert [call["name"] for call in message.tool_calls] == ["ls"]
    assert message.content == f"{MAIL} first, or"


@pytest.mark.spec("NEMO-075")
@pytest.mark.parametrize("value", ["a ` b", "```\ncode", "> so it goes", "```\na\n```\n`b` ~~~"])
def test_signs_in_a_value_quote_nothing(value):
    first = f"<function=ls><parameter=path>\n{value}\n</parameter></function>"
    assert calls(f"`a` is used. {first}\n{MAIL}") == [("ls", {"path": value}), ("send_email", {"to": "boss"})]


@pytest.mark.spec("NEMO-075")
def test_a_quotation_ends():
    for text in ("`x` then {}", "```\nx\n```\n{}", "> x\n{}", "A ` alone\n\n{}", "A ` and\n{}"):
        assert calls(text.format(MAIL)) == [("send_email", {"to": "boss"})]


@pytest.mark.spec("NEMO-076")
def test_values_have_the_types_of_the_schema():
    text = (
        "<function=search_orders><parameter=query>12</parameter><parameter=limit> 3 </parameter>"
        '<parameter=urgent>True</parameter><parameter=tags>["a"]</parameter><parameter=other>1</parameter>'
        "</function>"
    )
    ((_, args),) = calls(text)
    assert args == {"query": "12", "limit": 3, "urgent": True, "tags": ["a"], "other": "1"}


@pytest.mark.spec("NEMO-076")
@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("1.5", {"type": "number"}, 1.5),
        ("1.5", {"type": "integer"}, "1.5"),
        ("many", {"type": "integer"}, "many"),
        ("true", {"type": "number"}, "true"),
        ("null", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, None),
        ("null", {"type": "string"}, "null"),
        ("7", {"type": ["string", "integer"]}, "7"),
        ('{"a": 1}', {"type": "object"}, {"a": 1}),
        ("[1]", {"type": "object"}, "[1]"),
        ("NaN", {"type": "number"}, "NaN"),
        ("-Infinity", {"type": "number"}, "-Infinity"),
        ("1e999", {"type": "number"}, "1e999"),
        ("[NaN]", {"type": "array"}, "[NaN]"),
        ('{"a": [1e999]}', {"type": "object"}, '{"a": [1e999]}'),
        ("1e9", {"type": "number"}, 1e9),
        ("1", {}, "1"),
        ("1", None, "1"),
    ],
)
def test_values_that_fit_and_that_do_not(value, schema, expected):
    found = typed(value, schema)
    assert (found, type(found)) == (expected, type(expected))


def test_schemas_of_any_tool():
    given_as = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"n": {}}}}}
    assert parameter_schemas(given_as) == {"n": {}}
    assert parameter_schemas({"type": "web_search"}) == {}
    assert parameter_schemas(object()) == {}


@pytest.mark.spec("NEMO-076")
def test_ids_are_new_and_hexadecimal():
    text = "<function=ls><parameter=path>/a</parameter></function>"
    ids = {call["id"] for call in parsed(text * 2).tool_calls}
    assert len(ids) == 2
    assert all(re.fullmatch("[0-9a-f]{32}", call_id) for call_id in ids)


@pytest.mark.spec("NEMO-076", "NEMO-077")
def test_rejected_blocks_stay_in_the_text():
    good = "<function=ls><parameter=path>/a</parameter></function>"
    unknown = "<function=rm><parameter=path>/a</parameter></function>"
    message = parsed(f"First {good} then {unknown} end.")
    assert [call["name"] for call in message.tool_calls] == ["ls"]
    assert message.content == f"First  then {unknown} end."
    untouched = AIMessage(unknown)
    assert parsed("", message=untouched) is untouched


@pytest.mark.spec("NEMO-077")
def test_what_becomes_of_the_text():
    good = "<function=ls><parameter=path>/a</parameter></function>"
    assert parsed(f"Let me look.\n<tool_call>\n{good}\n</tool_call>").content == "Let me look."
    assert parsed('{"tool": "ls", "args": {"path": "/a"}}').content == ""


@pytest.mark.parametrize(
    "text",
    [
        "<function=ls><parameter=path>/a</parameter>",
        "<function=ls><parameter=path>/a</function>",
        "<function=ls>words</function>",
        "<function=><parameter=path>/a</parameter></function>",
        "<think><function=ls></function></think>no",
        "<think>maybe <function=ls></function>",
        "maybe <function=ls></function></think>no",
    ],
)
def test_half_calls_and_thoughts_are_no_calls(text):
    message = AIMessage(text)
    assert parsed(text, message=message) is message


def test_a_value_may_contain_tags():
    text = "<function=ls><parameter=path>a</function><function=rm>b</parameter></function>"
    assert calls(text) == [("ls", {"path": "a</function><function=rm>b"})]


def test_a_call_behind_a_thought():
    message = parsed('<think>hm</think>{"tool": "ls", "args": {"path": "/a"}}')
    assert (message.content, len(message.tool_calls)) == ("<think>hm</think>", 1)


def test_what_was_cut_off_is_no_call():
    text = "<function=ls><parameter=path>/a</parameter></function>"
    message = AIMessage(text, response_metadata={"finish_reason": "length"})
    assert parsed(text, message=message) is message


@pytest.mark.spec("NEMO-078")
def test_structured_calls_win():
    message = AIMessage("<function=ls></function>", tool_calls=[{"name": "ls", "args": {}, "id": "c"}])
    assert parsed("", message=message) is message


PIECES = [
    *(
        "<function=",
        "ls",
        "search_orders",
        "rm",
        ">",
        "<parameter=",
        "<parameter name=",
        "path",
        "</parameter>",
    ),
    *("</function>", "<function>", "<name>", "</name>", "<think>", "</think>", "a: b", "\n", '"', "{", "}"),
    *('{"tool": "ls", "args": {}}', '{"tool": "rm", "args": {}}', "```json\n", "\n```", "<tool_call>"),
]


@given(st.lists(st.sampled_from(PIECES), max_size=20).map("".join) | st.text())
def test_no_text_breaks_the_parser_and_none_makes_it_invent(text):
    message = parsed(text)
    for call in message.tool_calls:
        assert call["name"] in {"ls", "search_orders", "send_email", "execute"}
        assert call["name"] in text
    if not message.tool_calls:
        assert message.content == text


VALUES = st.text().filter(lambda text: "</param" not in text and not text.endswith("\r"))


@given(st.dictionaries(st.from_regex(r"[a-z]{1,5}", fullmatch=True), VALUES))
def test_written_and_read_again(args):
    body = "".join(f"<parameter={key}>\n{value}\n</parameter>\n" for key, value in args.items())
    assert calls(f"<function=ls>\n{body}</function>") == [("ls", args)]


SCHEMAS = st.recursive(
    st.none() | st.text() | st.integers(),
    lambda inner: st.dictionaries(st.sampled_from(["type", "anyOf", "enum"]), inner | st.lists(inner)),
)


@given(st.text(), SCHEMAS)
def test_no_schema_breaks_the_types(value, schema):
    typed(value, schema)


@pytest.mark.spec("NEMO-075", "NEMO-076")
@pytest.mark.parametrize("mode", ["sync", "async"])
async def test_a_textual_call_runs_with_the_profile_alone(mode):
    text = "<function=search_orders><parameter=query>x</parameter><parameter=limit>2</parameter></function>"
    for provider, expected in (("NVIDIA", '["x", 2, false, null]'), ("another", None)):
        model = ScriptedChatModel(
            [text, "done"], provider=provider, model_name="nvidia/nemotron-3-ultra-550b-a55b"
        )
        graph = create_deep_agent(model, tools=[search_orders], kernel=KERNEL)
        given_ = {"messages": "orders of x"}
        state = graph.invoke(given_) if mode == "sync" else await graph.ainvoke(given_)
        results = [message.text for message in state["messages"] if message.type == "tool"]
        assert results == ([expected] if expected else [])
