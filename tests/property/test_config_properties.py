"""Rules of configuration that hold for all texts, names and values."""

import json
import tempfile
import tomllib
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from deepagents_kernel.config.edit import set_lock, switch
from deepagents_kernel.config.environment import environment_source
from deepagents_kernel.config.errors import ConfigError
from deepagents_kernel.config.expand import Expander
from deepagents_kernel.config.files import read_file
from deepagents_kernel.config.lines import index_lines, line_of
from deepagents_kernel.config.secrets import REDACTED, shown
from deepagents_kernel.config.source import Level

WORDS = st.from_regex(r"[a-z][a-z0-9]{0,5}", fullmatch=True)
KINDS = st.sampled_from(["middleware", "backend", "provider", "harness", "model", "bundle"])
PLUGINS = st.builds(
    lambda kind, parts: f"{kind}.{'-'.join(parts)}", KINDS, st.lists(WORDS, min_size=1, max_size=3)
)
# Whatever is no separator: short names, names of distributions, patterns.
NAMES = st.text(
    st.characters(exclude_categories=["Z", "C"], exclude_characters=","), min_size=1, max_size=8
).filter(lambda name: not any(char.isspace() for char in name))
KEYS = st.one_of(WORDS, PLUGINS, st.text(max_size=4).filter(lambda text: "\x7f" not in text))
VALUES = st.sampled_from(
    [
        "1",
        "true",
        '"#"',
        "'[x'",
        '"\\"]"',
        "{ a = [1, 2], b = '}' }",
        '"""\nkey = 1\n[t]\n"""',
        "'''\n'''",
        "[ ]",
    ]
)
BETWEEN = st.lists(st.sampled_from(["", "# a", "  # [x]", '# """', "\t", "# 'y' = 1"]), max_size=2)


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def key_text(key):
    bare = key and all(char.isascii() and (char.isalnum() or char in "-_") for char in key)
    return key if bare else quoted(key)


# -- lines -------------------------------------------------------------------------------------------------


@st.composite
def toml_texts(draw):
    """A text, with the lines of its keys and of the entries of its lists."""
    lines, places = [], {}

    def add(text):
        lines.extend(text.split("\n"))

    for table in draw(st.lists(KEYS, unique=True, max_size=4)):
        lines.extend(draw(BETWEEN))
        places[table,] = len(lines) + 1
        add(f"[{key_text(table)}]{draw(st.sampled_from(['', ' # x', '  ']))}")
        for key in draw(st.lists(KEYS, unique=True, max_size=4)):
            lines.extend(draw(BETWEEN))
            path = (table, key)
            places[path] = len(lines) + 1
            if draw(st.booleans()):
                add(f"{draw(st.sampled_from(['', '  ']))}{key_text(key)} = {draw(VALUES)}")
                continue
            lines.append(f"{key_text(key)} = [")
            for name in draw(st.lists(NAMES, unique=True, max_size=4)):
                lines.extend(draw(BETWEEN))
                places[*path, name] = len(lines) + 1
                lines.append(f"  {quoted(name)}, # {quoted(name)}")
            lines.append("]")
    return draw(st.sampled_from(["\n", "\r\n"])).join(lines), places


@given(toml_texts())
def test_every_key_and_entry_is_found_where_it_was_written(written):
    text, places = written
    tomllib.loads(text)
    index = index_lines(text)
    # Keys of inline tables are found besides those that were noted.
    assert {key: line_of(index, key) for key in places} == places
    assert {key for key in index if len(key) < 2} == {key for key in places if len(key) < 2}


@given(st.text(st.sampled_from("a=.[]{}\"'#,\n\\ 1"), max_size=40), st.lists(st.text(max_size=2), max_size=3))
def test_a_line_is_asked_of_any_text(text, key):
    line = line_of(index_lines(text), tuple(key))
    assert line is None or 1 <= line <= text.count("\n") + 1


# -- files and environment ---------------------------------------------------------------------------------


@given(st.lists(NAMES, unique=True, max_size=5), st.sampled_from([",", " ", ", ", "\n", " ,\t"]))
def test_names_of_a_variable(names, between):
    found = environment_source({"DEEPAGENTS_PLUGINS_ALLOW": between.join(names)})
    assert found.switches.allow == tuple(names)
    assert {found.where("plugins", "allow", name) for name in names} <= {"DEEPAGENTS_PLUGINS_ALLOW"}


@given(
    st.dictionaries(PLUGINS, st.dictionaries(WORDS, st.text(max_size=5), min_size=1, max_size=3), max_size=3)
)
def test_settings_go_through_the_environment_unchanged(settings):
    settings = {
        name: {key: value for key, value in table.items() if not value.startswith(("[", "{"))}
        for name, table in settings.items()
    }
    settings = {name: table for name, table in settings.items() if table}
    variables = {
        (name, key): f"DEEPAGENTS_PLUGIN__{name.replace('.', '_').replace('-', '_').upper()}__{key.upper()}"
        for name, table in settings.items()
        for key in table
    }
    found = environment_source({variables[name, key]: settings[name][key] for name, key in variables})
    assert found.settings == settings
    for (name, key), variable in variables.items():
        assert found.where("plugin", name, key) == variable


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=8,
)


@given(st.lists(JSON) | st.dictionaries(st.text(max_size=3), JSON))
def test_lists_and_tables_go_through_the_environment_as_json(value):
    found = environment_source({"DEEPAGENTS_KERNEL__KEY": json.dumps(value)})
    assert found.settings == {"kernel": {"key": value}}


@given(
    st.dictionaries(st.sampled_from(["enable", "disable", "allow", "required"]), st.lists(NAMES, unique=True))
)
def test_names_of_a_file(lists):
    text = "[plugins]\n" + "".join(f"{key} = {quoted(names)}\n" for key, names in lists.items())
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "deepagents.toml")
        path.write_bytes(text.encode())
        found = read_file(path, Level.USER, {})
    for key in ("enable", "disable", "allow", "required"):
        assert getattr(found.switches, key) == (tuple(lists[key]) if key in lists else None)


# -- variables in values -----------------------------------------------------------------------------------

TEXTS = st.text(st.sampled_from("$${}{}:-AB ab"), max_size=12)


def expand(value, environ):
    expander = Expander(environ, lambda key, reason, hint: ConfigError("file", reason, hint))
    return expander.value(value, ("key",)), expander.used.get(("key",), ())


@given(TEXTS)
def test_any_text_can_be_written_literally(text):
    assert expand(text.replace("${", "$${"), {}) == (text, ())


@given(TEXTS.filter(lambda text: "${" not in text))
def test_a_text_without_variables_is_itself(text):
    assert expand(text, {"A": "x"}) == (text, ())


@given(TEXTS, TEXTS, TEXTS)
def test_a_value_is_put_in_as_it_is(before, value, after):
    # A dollar sign right before would make the variable a literal.
    before = before.rstrip("$").replace("${", "$${")
    after = after.replace("${", "$${")
    wanted = before.replace("$${", "${") + value + after.replace("$${", "${")
    assert expand(f"{before}${{NAME}}{after}", {"NAME": value}) == (wanted, ("NAME",))


# -- secrets -----------------------------------------------------------------------------------------------


@given(st.text(st.sampled_from("ab:/@?&=# ;"), max_size=20))
def test_what_is_shown_once_is_shown_the_same_again(text):
    assert shown("x", shown("x", text)) == shown("x", text)


@given(
    st.text(st.sampled_from("abc=?;,# "), max_size=12), st.sampled_from(["api_key", "token", "db_password"])
)
def test_a_secret_parameter_is_never_shown(rest, name):
    assert shown("url", f"s3:bucket?{name}=HIDDEN{rest}&x=1") == f"s3:bucket?{name}={REDACTED}&x=1"


@given(st.text(st.sampled_from("abc:/?#@1"), max_size=12))
def test_a_password_is_never_shown(rest):
    assert "HIDDEN" not in shown("url", f"postgres://user:HIDDEN{rest}@host/db")


# -- editing -----------------------------------------------------------------------------------------------


@st.composite
def documents(draw):
    """A file in three parts: up to ``[plugins]``, its keys, and what comes behind."""

    def tables(names):
        lines = []
        for name in names:
            lines += [*draw(BETWEEN), f"[{name}]"]
            lines += [f"  k{number} = {draw(VALUES)} # c" for number in range(draw(st.integers(0, 2)))]
        return "".join(f"{line}\n" for line in lines)

    keys = draw(
        st.lists(
            st.sampled_from(["strict = true", "autoload=false # c", "allow = [\n 'a', # b\n]"]), unique=True
        )
    )
    inside = "".join(f"{line}\n" for key in keys for line in [*draw(BETWEEN), key])
    behind = "".join(f"{line}\n" for line in draw(BETWEEN)) + tables(["kernel", '"x y"'])
    return f"{tables(['first', 'second'])}[plugins]{draw(st.sampled_from(['', ' # c']))}\n", inside, behind


def edited(text, change):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "deepagents.toml")
        path.write_bytes(text.encode())
        change(path)
        return path.read_bytes().decode()


@given(documents(), PLUGINS, st.booleans(), st.sampled_from(["\n", "\r\n"]))
def test_a_new_list_stands_behind_the_keys_of_its_table(parts, name, on, end):
    before, inside, behind = (part.replace("\n", end) for part in parts)
    line = f'{"enable" if on else "disable"} = ["{name}"]{end}'
    found = edited(f"{before}{inside}{behind}", lambda path: switch(path, name, on=on))
    assert found == f"{before}{inside}{line}{behind}"


@given(documents(), st.lists(PLUGINS, unique=True, min_size=2, max_size=4), st.sampled_from(["\n", "\r\n"]))
def test_only_the_list_changes(parts, names, end):
    before, inside, behind = (part.replace("\n", end) for part in parts)
    *old, new = names

    def written(items):
        return f"{before}{inside}  disable=[{', '.join(map(quoted, items))}] # c{end}{behind}"

    assert edited(written(old), lambda path: switch(path, new, on=False)) == written(names)
    line = f'  enable = ["{new}"]{end}'
    back = edited(written(names), lambda path: switch(path, new, on=True))
    assert back == f"{written(old).removesuffix(behind)}{line}{behind}"


@given(documents(), st.text(st.characters(exclude_categories=["C"]), min_size=1).filter(str.strip))
def test_any_path_of_a_lock_is_written_so_that_it_is_read_again(parts, lock):
    before, inside, behind = parts
    found = edited(f"{before}{inside}{behind}", lambda path: set_lock(path, lock))
    assert found.startswith(f"{before}{inside}")
    assert found.endswith(behind)
    assert tomllib.loads(found)["plugins"]["lock"] == lock
