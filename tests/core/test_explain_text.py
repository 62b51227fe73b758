"""A plan as text."""

from __future__ import annotations

import pytest

from deepagents_kernel.explain.text import WIDTH, printable, render_document


def entry(name, segment="core", **fields):
    return {
        "segment": segment,
        "name": name,
        "slot": name,
        "class": f"lib.{name}",
        "plugin": f"middleware.{name.lower()}",
        "distribution": "deepagents-lib",
        "version": "1.0",
        "origin": "plugin",
        "source": "",
        "replaced": "",
        "constraints": {"after": [], "before": []},
        "why": "place in the default order",
        "summary": "",
        "notes": [],
        "tools": [],
        **fields,
    }


def tool(name, source="caller", **fields):
    return {"name": name, "source": source, "description": "d", "parameters": {}, **fields}


def stack(path="main", **fields):
    return {
        "path": path,
        "kind": path.rpartition("/")[2],
        "model": {"class": "lib.Model", "provider": "openai", "identifier": "gpt", "spec": ""},
        "profile": {"key": "", "layers": []},
        "backend": "lib.StateBackend",
        "prompt": None,
        "state_schema": "lib.State",
        "response_format": None,
        "skills": None,
        "memory": None,
        "permissions": None,
        "interrupt_on": None,
        "excluded_tools": [],
        "entries": [],
        "dropped": [],
        "tools": [],
        "children": [],
        **fields,
    }


def rendered(warnings=(), **fields):
    document = {
        "format": 1,
        "fingerprint": "f00d",
        "kernel": "0.1.0",
        "warnings": warnings,
        "main": stack(**fields),
    }
    return render_document(document)


def test_an_entry_shows_segment_owner_reason_and_what_it_replaced():
    custom = entry(
        "Audit",
        "tail",
        **{"class": "mine.Better"},
        origin="caller",
        source="the caller",
        replaced="plugin middleware.audit",
    )
    text = rendered(entries=[entry("Files", summary="Files for the agent."), custom])
    assert text.startswith(
        """\
main
  model      openai:gpt  (Model)
  profile    none
  backend    StateBackend
  prompt     none
  core
    Files                                 middleware.files, deepagents-lib 1.0
      does       Files for the agent.
      here       place in the default order
  tail
    Audit                                 middleware.audit, deepagents-lib 1.0
      class      mine.Better
      here       place in the default order
      filled by  the caller
      replaced   plugin middleware.audit
"""
    )
    assert text.endswith("\nfingerprint f00d")


def test_tools_stand_with_who_brings_them_and_the_count_says_that_it_is_approximate():
    tools = [tool("ls", "Files", tokens=1200), tool("rm", "Files", tokens=34), tool("ask", tokens=5)]
    cost = {"counter": "approximation", "exact": False, "prompt": 3, "tools": 1239}
    text = rendered(
        entries=[entry("Files", tools=["ls", "rm"])], tools=tools, tokens=cost, prompt="Be\n careful."
    )
    assert "      tools      ls 1,200, rm 34: about 1,234 tokens\n" in text
    assert "  tools      ask 5 tokens, from the caller\n" in text
    assert '  prompt     12 characters, about 3 tokens: "Be careful."\n' in text
    assert "  cost       3 tools, about 1,239 tokens (approximate: four characters a token)\n" in text


def test_an_exact_count_names_who_counts():
    cost = {"counter": "middleware.tiktoken", "exact": True, "prompt": 0, "tools": 5}
    text = rendered(tools=[tool("ask", tokens=5)], tokens=cost)
    assert "  cost       1 tool, 5 tokens by middleware.tiktoken\n" in text
    assert "about" not in text


def test_without_counting_tools_are_named_only():
    text = rendered(entries=[entry("Files")], tools=[tool("ls", "Files"), tool("rm", "Files")])
    assert "      tools      ls, rm\n" in text
    assert "token" not in text


def test_rules_approvals_sources_and_left_out_entries_are_shown():
    text = rendered(
        permissions=[{"operations": ["read", "write"], "paths": ["/secret/**"], "mode": "deny"}],
        interrupt_on={"ask": True, "ls": False},
        skills=["/skills/"],
        memory=[],
        excluded_tools=["execute"],
        dropped=[{"name": "Cache", "class": "lib.Cache", "reason": "excluded by the profile openai"}],
    )
    assert "  rules      deny read, write /secret/**\n" in text
    assert "  approval   ask\n" in text
    assert "  skills     /skills/\n" in text
    assert "  memory     none\n" in text
    assert "  hidden     execute (the profile excludes them)\n" in text
    assert "  left out   Cache: excluded by the profile openai\n" in text


def test_children_are_indented_below_their_parent():
    text = rendered(children=[stack("main/kid", kind="subagent", children=[stack("main/kid/sub")])])
    lines = text.splitlines()
    assert "  main/kid  (subagent)" in lines
    assert "    main/kid/sub  (sub)" in lines


def test_warnings_are_shown_with_their_way_out():
    warning = {
        "text": "no tool is called 'lss'",
        "stack": "main",
        "entry": "",
        "plugin": "",
        "hint": "nearest: ls",
    }
    assert "warning    main: no tool is called 'lss' (nearest: ls)\n" in rendered([warning])


def test_a_long_list_goes_on_below_its_beginning():
    text = rendered(skills=[f"/skills/{number}/" for number in range(20)])
    first, second, *_ = (line for line in text.splitlines() if "/skills/" in line)
    assert second.index("/skills/") == first.index("/skills/") == 13


@pytest.mark.parametrize("length", [10, 300, 5000])
def test_every_line_fits_100_columns(length):
    text = rendered(
        prompt="word " * length,
        entries=[entry("N" * length, summary="long " * length, notes=["note " * length])],
        tools=[tool(f"tool{number}", "N" * length) for number in range(length)],
        backend=f"lib.{'B' * length}",
    )
    assert max(map(len, text.splitlines())) <= WIDTH == 100


def test_names_and_prompts_can_not_steer_the_terminal():
    text = rendered(prompt="a\x1b[31mb\u202ec", entries=[entry("E\x1b]0;title\x07")])
    assert all(line == printable(line) for line in text.splitlines())


def test_joiners_stay_and_what_steers_a_terminal_does_not():
    assert printable("می\u200cخواهم 👩\u200d👧 hy\xadphen") == "می\u200cخواهم 👩\u200d👧 hy\xadphen"
    assert printable("a\x1b\u202eb\nc\u2028d\xa0e") == "a  b c d e"
