"""Configuration by environment variables."""

from __future__ import annotations

import pytest

from deepagents_kernel.config.environment import CONFIG_VARIABLE, LABEL, VARIABLES, environment_source
from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.source import Level, Switches

PLUGIN = "DEEPAGENTS_PLUGIN__"


def source(**variables):
    return environment_source({f"DEEPAGENTS_{name}": value for name, value in variables.items()})


def error(**variables):
    with pytest.raises(ConfigError) as caught:
        source(**variables)
    return caught.value


def test_an_environment_that_says_nothing():
    found = environment_source({"PATH": "x", "HOME": "y"})
    assert (found.level, found.label, found.path) == (Level.ENVIRONMENT, "environment", None)
    assert (found.switches, found.settings) == (Switches(), {})
    assert found.where("plugins", "enable", "x") == "environment"
    assert found.where() == "environment"


@pytest.mark.parametrize("key", ["ENABLE", "DISABLE", "ALLOW", "REQUIRED"])
@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ("a",)),
        (" a,b ", ("a", "b")),
        ("a b\tc\nd", ("a", "b", "c", "d")),
        ("a , b,,c,", ("a", "b", "c")),
        ("a,b,a", ("a", "b")),
        ("", ()),
        (" , ", ()),
    ],
)
def test_lists_of_names(key, text, names):
    found = source(**{f"PLUGINS_{key}": text})
    assert found.switches == Switches(**{key.lower(): names})
    for name in names:
        assert found.where("plugins", key.lower(), name) == f"DEEPAGENTS_PLUGINS_{key}"
    assert found.where("plugins", key.lower()) == f"DEEPAGENTS_PLUGINS_{key}"
    assert found.where("plugins", key.lower(), "other") == "environment"


@pytest.mark.parametrize("key", ["AUTOLOAD", "STRICT"])
@pytest.mark.parametrize(
    ("text", "flag"),
    [
        *[(text, True) for text in ("1", "true", " YES\n", "On")],
        *[(text, False) for text in ("0", "False", "no", " off ")],
    ],
)
def test_yes_and_no(key, text, flag):
    found = source(**{f"PLUGINS_{key}": text})
    assert found.switches == Switches(**{key.lower(): flag})
    assert found.where("plugins", key.lower()) == f"DEEPAGENTS_PLUGINS_{key}"


@pytest.mark.parametrize("text", ["", " ", "2", "maybe", "ja", "truee"])
def test_neither_yes_nor_no(text):
    found = error(PLUGINS_STRICT=text)
    assert (found.path, found.key, found.line) == (LABEL, "DEEPAGENTS_PLUGINS_STRICT", None)
    assert str(found).startswith(
        "environment: DEEPAGENTS_PLUGINS_STRICT: expected one of 1, true, yes, on, 0,"
    )
    assert repr(text) in str(found)


def test_the_lock_is_a_path_from_the_working_directory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert source(PLUGINS_LOCK=" a/b.lock ").switches.lock == tmp_path / "a" / "b.lock"
    assert source(PLUGINS_LOCK=str(tmp_path / "x")).switches.lock == tmp_path / "x"
    assert source(PLUGINS_LOCK="Yes").switches.lock == tmp_path / "deepagents.lock"
    for text in ("0", "false", "NO", " off "):
        assert source(PLUGINS_LOCK=text).switches.lock is False
    for text in ("", "  "):
        assert "the path is empty" in str(error(PLUGINS_LOCK=text))
    assert "is no path here" in str(error(PLUGINS_LOCK="~nobody-of-that-name/x"))


def test_settings_of_plugins_and_of_the_kernel():
    found = source(
        PLUGIN__MIDDLEWARE_FILESYSTEM__READ_LIMIT="50",
        PLUGIN__MODEL_INIT_CHAT_MODEL__OPTIONS__TIMEOUT="7",
        PLUGIN__MODEL_INIT_CHAT_MODEL__OPTIONS__DEEP__ER="8",
        PLUGIN__BACKEND_S3__EMPTY="",
        KERNEL__RECURSION_LIMIT=" 60 ",
    )
    assert found.settings == {
        "middleware.filesystem": {"read_limit": "50"},
        "model.init-chat-model": {"options": {"timeout": "7", "deep": {"er": "8"}}},
        "backend.s3": {"empty": ""},
        "kernel": {"recursion_limit": " 60 "},
    }
    assert found.expanded == {}
    variable = "DEEPAGENTS_PLUGIN__MODEL_INIT_CHAT_MODEL__OPTIONS__"
    assert found.where("plugin", "model.init-chat-model", "options", "timeout") == f"{variable}TIMEOUT"
    # Several variables make up the table; one of them is a place to begin with.
    assert found.where("plugin", "model.init-chat-model") == f"{variable}DEEP__ER"
    assert found.where("kernel", "recursion_limit") == "DEEPAGENTS_KERNEL__RECURSION_LIMIT"
    assert found.where("kernel", "other") == "environment"
    assert found.where("plugin", "backend.s3", "empty", "more") == "environment"


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("[1, 'a']".replace("'", '"'), [1, "a"]),
        ('{"a": {"b": null}}', {"a": {"b": None}}),
        ("[]", []),
        ("1", "1"),
        ("true", "true"),
        ('"quoted"', '"quoted"'),
        (" [1]", " [1]"),
        ("${HOME}", "${HOME}"),
        ("null", "null"),
    ],
)
def test_what_begins_like_json_is_json_and_all_else_is_text(text, value):
    found = source(KERNEL__KEY=text)
    assert found.settings["kernel"]["key"] == value
    if isinstance(value, dict):
        assert found.where("kernel", "key", "a", "b") == "DEEPAGENTS_KERNEL__KEY"
        assert found.where("kernel", "key", "a", "c") == "environment"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[hunter2", "not valid JSON: Expecting value at character 2"),
        ('{"a": "hunter2"', "not valid JSON"),
        ('{"a": 1, "a": 2}', "a key stands there twice"),
        ("[NaN]", "NaN is no number of JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[" * 60 + "]" * 60, "nested too deeply"),
        ("[" + "1" * 5000 + "]", "not valid JSON"),
    ],
)
def test_bad_json_is_an_error_that_does_not_show_it(text, said):
    found = error(PLUGIN__BACKEND_S3__TOKEN=text)
    assert found.key == "DEEPAGENTS_PLUGIN__BACKEND_S3__TOKEN"
    assert said in str(found)
    assert "hunter2" not in str(found)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("PLUGINS_DISABLED", "there is no such variable\n  nearest: DEEPAGENTS_PLUGINS_DISABLE"),
        ("PLUGINS", "nearest: DEEPAGENTS_PLUGINS_"),
        ("PLUGIN_DISABLE", "nearest: DEEPAGENTS_PLUGINS_DISABLE"),
        ("PLUGINS__ENABLE", "nearest: DEEPAGENTS_PLUGINS_ENABLE"),
        (
            "PLUGIN_MIDDLEWARE_FILESYSTEM__READ_LIMIT",
            "settings are written DEEPAGENTS_PLUGIN__KIND_NAME__KEY",
        ),
        ("KERNEL_RECURSION_LIMIT", "settings are written"),
        ("KERNEL", "settings are written"),
        ("CONFIGS", "nearest: DEEPAGENTS_CONFIG"),
        ("CONFG", "nearest: DEEPAGENTS_CONFIG"),
        ("CONFIG_FILE", "nearest: DEEPAGENTS_CONFIG"),
        ("PLUGIN__", "is no name of a plugin"),
        (
            "PLUGIN__FILESYSTEM__READ_LIMIT",
            "is no name of a plugin\n  write DEEPAGENTS_PLUGIN__KIND_NAME__KEY",
        ),
        ("PLUGIN__MIDLEWARE_FILESYSTEM__READ_LIMIT", "'midleware.filesystem' is no name of a plugin"),
        ("PLUGIN__MIDDLEWARE_FILESYSTEM", "it names no setting"),
        ("PLUGIN__MIDDLEWARE_FILESYSTEM__", "it names no setting"),
        ("PLUGIN__MIDDLEWARE_FILESYSTEM__A____B", "it names no setting"),
        ("KERNEL__", "it names no setting"),
    ],
)
def test_a_variable_that_is_almost_one(name, said):
    found = error(**{name: "x"})
    assert found.key == f"DEEPAGENTS_{name}"
    assert said in str(found)


@pytest.mark.parametrize(
    "name", ["MODEL", "CONTEXT", "TRACING_ENABLE", "LOG", "", "HOME", "COLOR", "COMFORT"]
)
def test_variables_of_other_programs_are_left_alone(name):
    assert source(**{name: "x"}).switches == Switches()


def test_two_variables_that_set_the_same():
    both = {"KERNEL__A": '{"b": 1}', "KERNEL__A__B": "2"}
    found = error(**both)
    assert found.key == "DEEPAGENTS_KERNEL__A__B"
    assert "the variable DEEPAGENTS_KERNEL__A sets the same" in str(found)
    assert "DEEPAGENTS_KERNEL__A sets the same" in str(error(KERNEL__A="1", KERNEL__a="2"))
    assert "DEEPAGENTS_KERNEL__A__B sets the same" in str(error(KERNEL__A__B="1", KERNEL__a="2"))


def test_the_table_names_every_variable():
    names = [name for name, _ in VARIABLES]
    assert len(set(names)) == len(names)
    assert names[0] == CONFIG_VARIABLE == "DEEPAGENTS_CONFIG"
    assert all(meaning.endswith(".") for _, meaning in VARIABLES)
    # Each is taken as it stands in the table; the two with placeholders as well.
    values = {name: "no" if name.endswith(("AUTOLOAD", "STRICT", "LOCK")) else "x" for name in names}
    values = {name.replace("KIND_NAME", "BUNDLE_X"): value for name, value in values.items()}
    found = environment_source(values)
    assert found.switches == Switches(("x",), ("x",), ("x",), ("x",), False, False, False)
    assert found.settings == {"bundle.x": {"key": "x"}, "kernel": {"key": "x"}}


@pytest.mark.parametrize("value", ["0", "false", " no ", "OFF"])
def test_a_list_that_is_switched_off_is_an_empty_one(value):
    switches = environment_source(
        {"DEEPAGENTS_PLUGINS_DISABLE": value, "DEEPAGENTS_PLUGINS_ENABLE": value}
    ).switches
    assert switches.disable == switches.enable == ()
    # Of a closed list it would be a guess, and a dangerous one.
    assert environment_source({"DEEPAGENTS_PLUGINS_ALLOW": value}).switches.allow == (value.strip(),)
