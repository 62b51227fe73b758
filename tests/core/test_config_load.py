"""Which files are read, for a program and for the command."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import platformdirs
import pytest

from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.load import load_for_command, load_for_library, user_file
from deepagents_kernel.config.paths import shown_path
from deepagents_kernel.config.source import Level

TABLE = "[tool.deepagents.plugins]\nrequired = ['{}']\n"


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    """A home directory with a project in it, which is the working directory."""
    home = tmp_path / "home"
    project = home / "code" / "project"
    project.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.chdir(project)
    return home


@pytest.fixture
def project(home):
    return home / "code" / "project"


def put(folder, name="deepagents.toml", mark=None, text=None):
    """A configuration file that tells which one it is."""
    folder.mkdir(parents=True, exist_ok=True)
    mark = mark or folder.name
    default = TABLE.format(mark) if name == "pyproject.toml" else f"[plugins]\nrequired = ['{mark}']\n"
    (folder / name).write_text(default if text is None else text, encoding="utf-8")
    return folder / name


def command(directory=None, *, workspace=None, trust=False, config=None, environ=None, single=()):
    return load_for_command(
        directory=directory or Path.cwd(),
        workspace=workspace,
        trust_workspace=trust,
        config=config,
        environ=environ or {},
        single=single,
    )


def marks(configuration):
    """What each file says, with its level."""
    return [
        (source.level, *source.switches.required)
        for source in configuration.sources
        if source.path is not None
    ]


def ignored(configuration):
    return [item.path for item in configuration.ignored]


# -- library -----------------------------------------------------------------------------------------------


def test_a_program_reads_no_file_unasked(home, project):
    put(project)
    put(user_file().parent, mark="user")
    found = load_for_library(None, {"DEEPAGENTS_PLUGINS_STRICT": "yes"})
    assert [source.level for source in found.sources] == [Level.ENVIRONMENT]
    assert found.sources[0].switches.strict is True
    assert found.ignored == ()


def test_a_program_reads_the_file_that_it_names(project):
    put(project, "one.toml", "one")
    put(project, "two.toml", "two")
    named = {"DEEPAGENTS_CONFIG": "two.toml"}
    assert marks(load_for_library("one.toml", named)) == [(Level.PROJECT, "one")]
    assert marks(load_for_library(project / "one.toml", {})) == [(Level.PROJECT, "one")]
    found = load_for_library(None, named)
    assert marks(found) == [(Level.PROJECT, "two")]
    assert [source.level for source in found.sources] == [Level.PROJECT, Level.ENVIRONMENT]


def test_a_file_at_home_may_be_named(home):
    put(home, "x.toml", "at-home")
    assert marks(load_for_library("~/x.toml", {})) == [(Level.PROJECT, "at-home")]


@pytest.mark.parametrize(
    ("config", "environ", "said"),
    [
        (
            "deepagent.toml",
            {},
            "deepagent.toml: there is no such file\n  config names it; nearest: deepagents.toml",
        ),
        (
            None,
            {"DEEPAGENTS_CONFIG": "no/where"},
            "no/where: there is no such file\n  DEEPAGENTS_CONFIG names it",
        ),
        (
            None,
            {"DEEPAGENTS_CONFIG": " "},
            "environment: DEEPAGENTS_CONFIG: the path of the configuration file is",
        ),
        ("", {}, "config: the path of the configuration file is empty"),
        (".", {}, "it is a folder"),
        (
            "pyproject.toml",
            {},
            "pyproject.toml: there is no table [tool.deepagents] in it\n  config names it",
        ),
        ("~nobody-of-that-name/x", {}, "the file can't be read"),
        ("a\0b", {}, "there is no such file"),
    ],
)
def test_a_named_file_that_can_not_be_had(project, config, environ, said):
    put(project)
    put(project, "pyproject.toml", text="[project]\n")
    with pytest.raises(ConfigError) as caught:
        load_for_library(config, environ)
    assert said in str(caught.value)


def test_the_command_names_its_option():
    with pytest.raises(ConfigError, match="--config names it"):
        command(config="missing.toml")


def test_values_are_expanded_and_mistakes_are_told(project):
    put(project, "x.toml", text="[kernel]\nname = '${A}'\n")
    assert load_for_library("x.toml", {"A": "b"}).sources[0].settings == {"kernel": {"name": "b"}}
    with pytest.raises(ConfigError, match=r"x\.toml:2: kernel\.name"):
        load_for_library("x.toml", {})
    with pytest.raises(ConfigError, match="DEEPAGENTS_PLUGINS_STRICT"):
        load_for_library(None, {"DEEPAGENTS_PLUGINS_STRICT": "x"})


# -- command -----------------------------------------------------------------------------------------------


def test_the_order_of_all_sources(project):
    put(project)
    put(user_file().parent, mark="user")
    found = command(
        environ={"DEEPAGENTS_PLUGINS_DISABLE": "a"}, single=[("b", True), ("c", False), ("b", False)]
    )
    levels = [source.level for source in found.sources]
    assert levels == [Level.USER, Level.PROJECT, Level.ENVIRONMENT, Level.COMMAND_LINE] == sorted(levels)
    assert marks(found) == [(Level.USER, "user"), (Level.PROJECT, "project")]
    line = found.sources[-1]
    assert (line.label, line.path) == ("command line", None)
    assert line.switches.single == (("b", True), ("c", False), ("b", False))
    assert line.where("plugins", "enable", "b") == "-p b"
    assert line.where("plugins", "disable", "b") == "-p no:b"
    assert line.where("plugins", "disable", "c") == "-p no:c"
    assert line.where("plugins", "enable", "c") == "command line"


def test_a_command_without_any_configuration():
    found = command()
    assert [source.level for source in found.sources] == [Level.ENVIRONMENT]
    assert found.ignored == ()


def test_the_user_file_is_where_the_system_keeps_such_files():
    assert user_file() == platformdirs.user_config_path("deepagents-kernel") / "deepagents.toml"


def test_a_user_file_that_leads_nowhere_is_an_error():
    user_file().parent.mkdir(parents=True)
    user_file().symlink_to("nowhere")
    with pytest.raises(ConfigError, match="can't be read"):
        command()


@pytest.mark.parametrize("name", ["deepagents.toml", "pyproject.toml"])
def test_the_nearest_folder_counts(home, project, name):
    put(home, name)
    assert marks(command()) == [(Level.PROJECT, "home")]
    put(home / "code", name)
    assert marks(command()) == [(Level.PROJECT, "code")]
    put(project, "pyproject.toml", text="[tool.ruff]\n")
    assert marks(command()) == [(Level.PROJECT, "code")]
    put(project / "sub", "x")
    assert marks(command(project / "sub")) == [(Level.PROJECT, "code")]


def test_the_search_does_not_go_above_the_home_directory(home):
    put(home.parent)
    assert marks(command()) == []
    # From a folder that is not below it, it goes on to the root.
    put(home.parent / "elsewhere" / "sub", "x")
    assert marks(command(home.parent / "elsewhere" / "sub")) == [(Level.PROJECT, home.parent.name)]


@pytest.mark.parametrize("is_folder", [True, False])
def test_the_search_ends_with_the_repository(home, project, is_folder):
    put(home / "code")
    if is_folder:
        (project / ".git").mkdir()
    else:
        (project / ".git").write_text("gitdir: elsewhere\n", encoding="utf-8")
    assert marks(command()) == []
    put(project)
    assert marks(command()) == [(Level.PROJECT, "project")]


def test_two_files_in_one_folder_are_an_error(project):
    put(project)
    put(project, "pyproject.toml", text="[tool.deepagents.kernel]\n")
    with pytest.raises(ConfigError) as caught:
        command()
    assert "pyproject.toml beside it has a table [tool.deepagents] as well" in str(caught.value)
    assert "the table stands at pyproject.toml:1" in caught.value.hint


@pytest.mark.parametrize("text", ["[tool\n", b"\xff", "x = " + "[" * 5000])
def test_a_pyproject_that_never_names_us_is_not_even_parsed(home, project, text):
    (project / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    put(home / "code")
    found = command()
    assert marks(found) == [(Level.PROJECT, "code")]
    assert ignored(found) == []


@pytest.mark.parametrize(
    "text", ["# deepagents\n[tool\n", b"# deepagents \xff", "# deepagents\nx = " + "[" * 5000]
)
def test_a_broken_pyproject_of_somebody_else_is_passed_over(home, project, text):
    (project / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    put(home / "code")
    found = command()
    assert marks(found) == [(Level.PROJECT, "code")]
    assert ignored(found) == [project / "pyproject.toml"]
    assert found.ignored[0].reason


@pytest.mark.parametrize("kind", ["pipe", "device", "large"])
def test_a_pyproject_that_never_ends_is_passed_over(home, project, kind):
    project.mkdir(exist_ok=True)
    path = project / "pyproject.toml"
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    else:
        with path.open("wb") as stream:
            stream.truncate(10_000_001)
    put(home / "code")
    found = command()
    assert marks(found) == [(Level.PROJECT, "code")]
    assert ignored(found) == [path]
    said = "it is larger than 10 MB" if kind == "large" else "it is not a regular file"
    assert found.ignored[0].reason == f"the file can't be read: {said}"


@pytest.mark.parametrize("text", ["[tool.deepagents.plugins\n", b"[tool.deepagents]\n# \xff\n"])
def test_a_broken_pyproject_that_speaks_of_us_is_an_error(project, text):
    (project / "pyproject.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ConfigError):
        command()


def test_a_slip_in_a_table_is_an_error_however_it_is_written(project):
    put(project, "pyproject.toml", text="[tool]\ndeepagents.kernl = {}\n")
    with pytest.raises(ConfigError, match="nearest: kernel"):
        command()


def test_a_broken_file_of_our_own_is_an_error(project):
    put(project, text="[plugins\n")
    with pytest.raises(ConfigError, match=r"deepagents\.toml:1: not valid TOML"):
        command()
    (project / "deepagents.toml").unlink()
    (project / "deepagents.toml").mkdir()
    with pytest.raises(ConfigError, match="it is a folder"):
        command()


def test_a_named_file_stands_in_for_the_project_and_not_for_the_user(home, project):
    put(project)
    put(user_file().parent, mark="user")
    put(home, "one.toml", "one")
    put(home, "two.toml", "two")
    found = command(config=home / "one.toml", environ={"DEEPAGENTS_CONFIG": str(home / "two.toml")})
    assert marks(found) == [(Level.USER, "user"), (Level.PROJECT, "one")]
    found = command(environ={"DEEPAGENTS_CONFIG": str(home / "two.toml")})
    assert marks(found) == [(Level.USER, "user"), (Level.PROJECT, "two")]


def test_the_user_file_is_read_once(home, project):
    own = put(user_file().parent, mark="user")
    assert marks(command(own.parent)) == [(Level.USER, "user")]
    assert marks(command(config=own)) == [(Level.USER, "user")]
    (project / "deepagents.toml").symlink_to(own)
    assert marks(command()) == [(Level.USER, "user")]


# -- workspace ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["deepagents.toml", "pyproject.toml"])
@pytest.mark.parametrize("below", [".", "sub/deeper"])
def test_nothing_is_taken_from_the_workspace(home, project, name, below):
    directory = project / below
    path = put(directory, name, "inside")
    put(home / "code")
    found = command(directory, workspace=project)
    assert marks(found) == [(Level.PROJECT, "code")]
    assert ignored(found) == [path]
    assert "--trust-workspace" in found.ignored[0].reason
    trusted = command(directory, workspace=project, trust=True)
    assert marks(trusted) == [(Level.PROJECT, "inside")]
    assert trusted.ignored == ()


def test_a_workspace_beside_the_project_changes_nothing(home, project):
    put(project)
    put(home / "code" / "project-2", "x")
    assert marks(command(workspace=home / "code" / "project-2")) == [(Level.PROJECT, "project")]


def test_what_an_agent_wrote_is_no_error(home, project):
    put(project)
    put(project, "pyproject.toml")
    put(home / "code")
    found = command(workspace=project)
    assert (marks(found), len(found.ignored)) == ([(Level.PROJECT, "code")], 2)
    put(project, "deepagents.toml", text="[broken")
    put(project, "pyproject.toml", text="[tool.deepagents\n")
    assert len(command(workspace=project).ignored) == 2
    put(project, "pyproject.toml", text="[broken\n")
    assert ignored(command(workspace=project)) == [project / "deepagents.toml"]


def test_a_repository_in_the_workspace_does_not_end_the_search(home, project):
    (project / ".git").mkdir()
    put(home / "code")
    assert marks(command(workspace=project)) == [(Level.PROJECT, "code")]
    assert marks(command(workspace=project, trust=True)) == []


def test_links_do_not_lead_out_of_the_workspace_nor_into_it(home, project):
    outside = put(home / "outside")
    inside = put(project, "x.toml", "inside")
    (project / "deepagents.toml").symlink_to(outside)
    (home / "code" / "deepagents.toml").symlink_to(inside)
    put(home, mark="home")
    found = command(workspace=project)
    assert marks(found) == [(Level.PROJECT, "home")]
    assert ignored(found) == [project / "deepagents.toml", home / "code" / "deepagents.toml"]
    (home / "link").symlink_to(project)
    (project / "deepagents.toml").unlink()
    put(project, mark="inside")
    assert project / "deepagents.toml" in ignored(command(workspace=home / "link"))
    assert project / "deepagents.toml" in ignored(command(home / "link", workspace=project))


@pytest.mark.parametrize("by", ["config", "environ"])
def test_a_file_in_the_workspace_that_the_user_names_is_read(project, by):
    path = put(project, mark="inside")
    named = {"config": path} if by == "config" else {"environ": {"DEEPAGENTS_CONFIG": str(path)}}
    found = command(workspace=project, **named)
    assert (marks(found), found.ignored) == ([(Level.PROJECT, "inside")], ())


def test_what_another_user_put_into_a_shared_folder_is_passed_over(project, monkeypatch):
    path = put(project)
    put(project, "pyproject.toml", text="[tool.other]\n")
    project.chmod(0o777 | stat.S_ISVTX)
    assert marks(command()) == [(Level.PROJECT, "project")]
    if os.getuid() == 0:
        os.chown(path, 12345, -1)
        os.chown(project / "pyproject.toml", 12345, -1)
    else:
        monkeypatch.setattr(os, "getuid", lambda: 12345)
    found = command()
    assert (marks(found), ignored(found)) == ([], [path])
    assert "--config" in found.ignored[0].reason
    assert marks(command(config=path)) == [(Level.PROJECT, "project")]
    project.chmod(0o755)
    assert marks(command()) == [(Level.PROJECT, "project")]


# -- paths -------------------------------------------------------------------------------------------------


def test_how_paths_are_shown(home, project, monkeypatch):
    assert shown_path(project / "a" / "b.toml") == "a/b.toml"
    assert shown_path(project) == "."
    assert shown_path(home / "code" / "x") == "~/code/x"
    assert shown_path(home) == "~"
    assert shown_path(home.parent / "x") == str(home.parent / "x")
    assert shown_path(f"{project}-2") == "~/code/project-2"
    assert shown_path("../x") == "../x"
    assert shown_path("environment") == "environment"
    monkeypatch.chdir("/")
    monkeypatch.setenv("HOME", "/")
    assert shown_path(project / "x") == str(project / "x")


def test_paths_where_the_working_directory_is_gone(home, tmp_path, monkeypatch):
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert shown_path(home / "x") == "~/x"
    with pytest.raises(ConfigError, match="can't be read"):
        load_for_library("x.toml", {})
    with pytest.raises(ConfigError, match="is no path here"):
        load_for_library(None, {"DEEPAGENTS_PLUGINS_LOCK": "x"})
    monkeypatch.chdir(tmp_path)
