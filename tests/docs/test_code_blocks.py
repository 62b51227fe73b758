"""Every Python block of the pages runs, and does what the page says."""

import re
import shutil

import pytest
from pages import ROOT, code_blocks, read

from deepagents_kernel import Kernel, PlanError, PluginError, make_request
from deepagents_kernel.testing import ScriptedChatModel

PAGES = ["README.md", *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").rglob("*.md"))]
WITH_CODE = [page for page in PAGES if list(code_blocks(read(page), "python"))]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Run the blocks of a page in order, in one namespace, in a folder that holds a copy of ``examples``."""
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    monkeypatch.chdir(tmp_path)
    # Models of providers are made, never asked.
    for provider in ("ANTHROPIC", "OPENAI"):
        monkeypatch.setenv(f"{provider}_API_KEY", "none")

    def run(page):
        namespace = {"__name__": "page"}
        for line, block in code_blocks(read(page), "python"):
            # Newlines in front, so that a traceback has the lines of the page.
            exec(compile("\n" * (line - 1) + block, str(ROOT / page), "exec"), namespace)
        return namespace

    return run


@pytest.mark.parametrize("page", WITH_CODE)
def test_the_blocks_of_a_page_run(run, page):
    run(page)


def test_the_pages_have_code():
    assert {"README.md", "docs/errors.md", "docs/planning.md", "docs/plugins.md"} <= set(WITH_CODE)


def test_links_between_pages_lead_somewhere():
    broken = [
        (page, target)
        for page in [*PAGES, "CONTRIBUTING.md"]
        for target in re.findall(r"\]\(([^)#]+)[^)]*\)", read(page))
        if "://" not in target and not ((ROOT / page).parent / target).exists()
    ]
    assert broken == []


def plan(*plugins, model=None, **arguments):
    return Kernel(plugins).plan(make_request(model or ScriptedChatModel(["done"]), **arguments))


def names(stack):
    return [entry.name for entry in stack.entries]


def test_what_the_readme_shows(run, capsys):
    page = run("README.md")
    assert "FilesystemBackend" in capsys.readouterr().out
    page["agent"].invoke({"messages": "Report."})
    assert page["calls"]["ls"] >= 1


def test_what_the_page_about_errors_shows(run, capsys):
    run("docs/errors.md")
    shown = capsys.readouterr().out
    assert "nearest: PatchToolCallsMiddleware" in shown
    assert "skills=" in shown


def test_what_the_page_about_settings_shows(run):
    from deepagents_builtin.middleware.filesystem.settings import FilesystemSettings

    settings = run("docs/settings.md")["kernel"].settings(FilesystemSettings)
    assert (settings.grep_max_count, settings.read_limit) == (200, 400)


def test_slots_of_the_page_about_plugins(run):
    page = run("docs/plugins.md")
    stranger = type("Other", (page["AgentMiddleware"],), {"name": "AuditMiddleware"})()
    with pytest.raises(PlanError, match="subclass it"):
        plan(page["StrictAudit"](), middleware=[stranger])
    mine = type("Mine", (page["AuditMiddleware"],), {"name": "AuditMiddleware"})(3)
    assert mine in plan(page["StrictAudit"](), middleware=[mine]).main.middleware
    taken = page["takeover"].plan(make_request(ScriptedChatModel(["done"])))
    assert names(taken.main)[2] == "Shouting"
    assert "PatchToolCallsMiddleware" not in names(taken.main)


def test_parts_of_the_page_about_plugins(run):
    page = run("docs/plugins.md")
    harbour = plan(page["Harbour"](), system_prompt="U")
    assert harbour.main.prompt == "U\n\nTimes are local."
    assert [stack.path for stack in harbour.stacks()] == ["main", "main/general-purpose", "main/pilot"]
    assert [tool.name for tool in harbour.main.context.tools] == ["tide"]
    assert harbour.stack("main/pilot").context.tools == ()
    assert page["poems"].read("/sappho.txt").file_data["content"] == "A poem in Greek.\n"
    assert page["answer"] == "You said: hello"
    labelled = plan(page["LabelledAudit"](), page["Labels"]())
    (entry,) = [entry for entry in labelled.main.entries if entry.name == "AuditMiddleware"]
    assert entry.spec.summary == "labels: harbour"


def test_rules_of_the_page_about_plugins_need_the_plugin_that_asks(run):
    page = run("docs/plugins.md")
    found = page["careful"].plan(make_request(ScriptedChatModel(["done"])))
    (stage,) = [entry.instance for entry in found.main.entries if entry.name == "HumanInTheLoopMiddleware"]
    assert sorted(stage.interrupt_on) == ["edit_file", "write_file"]
    with pytest.raises(PluginError, match=r"requires middleware\.human-in-the-loop"):
        Kernel([page["AskBeforeWriting"]()], disable=["middleware.human-in-the-loop"])


def test_checks_of_the_page_about_plugins(run):
    from langchain.agents.middleware import AgentMiddleware
    from langchain_core.tools import tool

    @tool
    def execute(command: str) -> str:
        """Run a command."""
        return command

    class Shell(AgentMiddleware):
        tools = (execute,)

    check = run("docs/plugins.md")["NoShell"]()
    plan(check)
    with pytest.raises(PlanError, match="commands are not allowed here"):
        plan(check, middleware=[Shell()])
