"""What is known of models: the table, its sources, and who may correct it."""

from __future__ import annotations

import importlib
import re

import attrs
import pytest
import tiny
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage
from pages import code, read, rows, section

from deepagents_builtin.profiles import facts as table
from deepagents_kernel import Kernel, ModelFacts
from deepagents_kernel.errors import HookError, ProfileError, SettingsError
from deepagents_kernel.model_facts import MEANINGS, finish_meaning, finish_signal, merge_facts
from deepagents_kernel.testing import ScriptedChatModel

ROWS = {**table.CLAUDE, **table.CODEX, **table.NEMOTRON, "openai": table.OPENAI}
SOURCE = re.compile(r"https://\S+|[\w-]+ \d+\.\d+\.\d+, [\w/]+\.py( and \w+\.py)?")


@pytest.fixture(scope="module")
def kernel():
    return Kernel()


@pytest.mark.parametrize(
    "name", ["claude-opus-4-7", "anthropic:claude-opus-4-7-20260201", "Anthropic:claude-opus-4-7"]
)
def test_a_name_is_read_as_for_profiles(kernel, name):
    assert kernel.model_facts(name) == kernel.model_facts("anthropic:claude-opus-4-7") != ModelFacts()


# -- the table -----------------------------------------------------------------------------------


@pytest.mark.parametrize("key", ROWS)
def test_every_row_says_where_it_was_read(key):
    assert ROWS[key].sources
    assert [source for source in ROWS[key].sources if not SOURCE.fullmatch(source)] == []


def test_every_model_that_a_built_in_profile_names_has_a_row(kernel):
    unknown = [key for key in kernel.profiles.harness_keys() if kernel.model_facts(key) == ModelFacts()]
    assert unknown == []


@pytest.mark.parametrize(
    ("key", "context", "output", "minimum"),
    [
        ("anthropic:claude-opus-4-7", 1_000_000, 128_000, 2_048),
        ("anthropic:claude-sonnet-4-6", 1_000_000, 128_000, 1_024),
        ("anthropic:claude-haiku-4-5", 200_000, 64_000, 4_096),
    ],
)
def test_claude(kernel, key, context, output, minimum):
    facts = kernel.model_facts(key)
    assert (facts.context_tokens, facts.max_output_tokens) == (context, output)
    assert (facts.cache, facts.cache_min_tokens, facts.cache_breakpoints) == ("explicit", minimum, 4)
    assert (facts.image_input, facts.pdf_input, facts.audio_input) == (True, True, False)


@pytest.mark.parametrize("key", table.CODEX)
def test_codex(kernel, key):
    facts = kernel.model_facts(key)
    assert (facts.context_tokens, facts.cache, facts.cache_min_tokens) == (400_000, "automatic", 1_024)
    assert (facts.image_input, facts.pdf_input, facts.cache_breakpoints) == (True, True, None)


def test_what_nobody_stated_is_not_known(kernel):
    assert kernel.model_facts("openai:gpt-5.1-codex").max_output_tokens is None
    assert kernel.model_facts("openrouter:nvidia/nemotron-3-ultra-550b-a55b").context_tokens is None


@pytest.mark.parametrize(
    ("package", "keys"),
    [("langchain_anthropic", table.CLAUDE), ("langchain_openai", table.CODEX)],
)
def test_the_rows_agree_with_the_packages_that_they_cite(package, keys):
    profiles = importlib.import_module(f"{package}.data._profiles")._PROFILES
    names = {
        "max_output_tokens": "max_output_tokens",
        "image_inputs": "image_input",
        "pdf_inputs": "pdf_input",
    }
    for key, facts in keys.items():
        given = profiles[key.partition(":")[2]]
        for theirs, ours in names.items():
            if theirs in given:
                assert getattr(facts, ours) == given[theirs], (key, theirs)
        if "max_input_tokens" in given:
            assert (facts.max_input_tokens or facts.context_tokens) == given["max_input_tokens"], key


def test_the_signals_are_those_of_the_clients():
    from typing import get_args

    from anthropic.types import StopReason
    from openai.types.chat.chat_completion import Choice
    from openai.types.responses.response import IncompleteDetails

    assert set(table.CLAUDE["anthropic:claude-opus-4-7"].finish) == set(get_args(StopReason))
    assert set(get_args(Choice.model_fields["finish_reason"].annotation)) <= set(table.OPENAI.finish)
    (reasons,) = [
        item for item in get_args(IncompleteDetails.model_fields["reason"].annotation) if get_args(item)
    ]
    assert {"max_output_tokens", "content_filter"} <= set(get_args(reasons))


# -- looking up ----------------------------------------------------------------------------------


def facts_of(rows, settings=None):
    plugin = tiny.plugin(deepagents_model_facts=lambda: rows)
    return tiny.kernel({"model.facts": plugin}, settings={"kernel": {"model_facts": settings or {}}})


HERE = ModelFacts(context_tokens=10, cache="none", finish={"end": "normal"}, sources=("a",))
MODEL = ModelFacts(context_tokens=20, finish={"stop": "cut_off"}, sources=("b",))


def test_the_model_stands_above_its_provider_and_settings_above_both():
    kernel = facts_of([("here:m", MODEL), ("here", HERE)], {"here:m": {"max_output_tokens": "7"}})
    assert kernel.model_facts("here:m") == ModelFacts(
        context_tokens=20,
        max_output_tokens=7,
        cache="none",
        finish={"end": "normal", "stop": "cut_off"},
        sources=("a", "b", "settings"),
    )
    assert kernel.model_facts("here:other") == kernel.model_facts("here") == HERE


def test_a_setting_for_the_provider_does_not_hide_what_is_known_of_the_model():
    kernel = facts_of(
        [("here:m", MODEL), ("here", HERE)], {"here": {"context_tokens": 5, "cache": "automatic"}}
    )
    assert (kernel.model_facts("here:m").context_tokens, kernel.model_facts("here:m").cache) == (
        20,
        "automatic",
    )
    assert kernel.model_facts("here:x").context_tokens == 5


def test_a_later_plugin_stands_above_an_earlier_one():
    first = tiny.plugin(deepagents_model_facts=lambda: [("here", HERE)])
    second = tiny.plugin(deepagents_model_facts=lambda: [("here", MODEL)])
    kernel = tiny.kernel({"model.a": first, "model.b": second})
    assert kernel.model_facts("here:m").context_tokens == 20


@pytest.mark.parametrize("spelling", ["NVIDIA", "nvidia", "Nvidia"])
def test_the_spelling_of_a_provider_does_not_matter_and_that_of_a_model_does(kernel, spelling):
    name = "nvidia/nemotron-3-ultra-550b-a55b"
    assert kernel.model_facts(f"{spelling}:{name}").context_tokens == 1_000_000
    assert (
        kernel.model_facts(ScriptedChatModel(["x"], provider=spelling, model_name=name)).image_input is False
    )
    assert kernel.model_facts(f"{spelling}:{name.upper()}") == ModelFacts()


@pytest.mark.parametrize("model", ["", ":", "a:", ":b", "nobody:knows", "bare-name", None])
def test_a_model_that_nobody_knows_has_no_facts(kernel, model):
    assert kernel.model_facts(model) == ModelFacts()


def test_an_agent_may_know_better():
    kernel = facts_of([("here", HERE)])
    own = kernel.configured({"kernel": {"model_facts": {"here": {"context_tokens": 3}}}})
    assert (own.model_facts("here:m").context_tokens, kernel.model_facts("here:m").context_tokens) == (3, 10)


def test_without_a_plugin_its_rows_are_gone():
    kernel = Kernel(disable=["harness.openai-codex", "provider.openai"])
    assert kernel.model_facts("openai:gpt-5.1-codex") == ModelFacts()


# -- bad input -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ([("here", ModelFacts(context_tokens=1))], "name no source"),
        ([("here", {"context_tokens": 1})], "pairs is expected"),
        ([("here", HERE, 1)], "pairs is expected"),
        ("here", "pairs is expected"),
    ],
)
def test_a_row_that_is_none_is_the_plugins_error(rows, reason):
    with pytest.raises(HookError, match=reason) as caught:
        facts_of(rows).model_facts("here:m")
    assert (caught.value.plugin, caught.value.hook) == ("model.facts", "deepagents_model_facts")


def test_a_malformed_key_is_refused():
    with pytest.raises(ProfileError, match="model facts key 'here: m'"):
        facts_of([("here: m", HERE)]).model_facts("here:m")


@pytest.mark.parametrize(
    "values",
    [
        {"context_tokens": 0},
        {"context_tokens": "many"},
        {"cache": "sometimes"},
        {"finish": {"stop": "perhaps"}},
        {"image_input": "perhaps"},
        {"kontext": 1},
    ],
)
def test_a_bad_setting_names_its_key(values):
    with pytest.raises(SettingsError, match=r"kernel\.model_facts"):
        facts_of([], {"here:m": values})


@pytest.mark.parametrize("finish", [{"stop": "perhaps"}, {"stop": None}])
def test_a_meaning_has_to_be_one(finish):
    with pytest.raises(ValueError, match="known: normal"):
        ModelFacts(finish=finish)


@pytest.mark.parametrize("finish", [{3: "normal"}, {"": "normal"}, {None: "normal"}])
def test_a_signal_is_a_text(finish):
    with pytest.raises(TypeError, match="finish: a signal is a text"):
        ModelFacts(finish=finish)


def test_what_signals_mean_can_not_be_changed():
    given = {"stop": "normal"}
    facts = ModelFacts(finish=given)
    given["stop"] = "refused"
    with pytest.raises(TypeError):
        facts.finish["stop"] = "refused"
    assert facts.finish == {"stop": "normal"}


@pytest.mark.parametrize(
    "name",
    ["context_tokens", "max_input_tokens", "max_output_tokens", "cache_min_tokens", "cache_breakpoints"],
)
@pytest.mark.parametrize(
    ("value", "error"), [(True, TypeError), ("9", TypeError), (1.5, TypeError), (0, ValueError)]
)
def test_a_count_is_a_number(name, value, error):
    with pytest.raises(error, match=f"{name}: expected a number of at least 1"):
        ModelFacts(**{name: value})


@pytest.mark.parametrize("sources", [3, None, b"x", {"a": 1}, [3], ["a", None]])
def test_sources_are_texts(sources):
    with pytest.raises(TypeError, match="sources: expected"):
        ModelFacts(sources=sources)


@pytest.mark.parametrize("sources", ["", " ", [""], ["", "\n"]])
def test_an_empty_source_is_none(sources):
    assert ModelFacts(sources=sources).sources == ()
    with pytest.raises(HookError, match="name no source"):
        facts_of([("a", ModelFacts(context_tokens=1, sources=sources))]).model_facts("a:m")


def test_facts_are_one_source_or_several():
    assert ModelFacts(sources="page").sources == ("page",)
    assert ModelFacts(sources=["a", "b"]).sources == ("a", "b")


# -- merging -------------------------------------------------------------------------------------

COUNTS = st.none() | st.integers(1, 9)
FLAGS = st.none() | st.booleans()
FACTS = st.builds(
    ModelFacts,
    context_tokens=COUNTS,
    max_output_tokens=COUNTS,
    image_input=FLAGS,
    cache=st.sampled_from([None, "explicit", "automatic", "none"]),
    finish=st.dictionaries(st.sampled_from("abc"), st.sampled_from(MEANINGS)),
    sources=st.lists(st.sampled_from("xyz"), unique=True),
)


@given(FACTS, FACTS, FACTS)
def test_merging_is_associative_and_nothing_known_is_lost(a, b, c):
    assert merge_facts(merge_facts(a, b), c) == merge_facts(a, merge_facts(b, c))
    assert merge_facts(ModelFacts(), a) == merge_facts(a, ModelFacts()) == merge_facts(a, a) == a
    merged = merge_facts(a, b)
    for name in ("context_tokens", "max_output_tokens", "image_input", "cache"):
        over, base = getattr(b, name), getattr(a, name)
        assert getattr(merged, name) == (base if over is None else over)
    assert {**a.finish, **b.finish} == merged.finish
    assert set(merged.sources) == {*a.sources, *b.sources}


# -- signals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("metadata", "signal"),
    [
        ({}, None),
        ({"finish_reason": ""}, None),
        ({"finish_reason": "stop"}, "stop"),
        ({"stop_reason": "end_turn"}, "end_turn"),
        ({"status": "completed", "incomplete_details": None}, "completed"),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "max_output_tokens",
        ),
        ({"status": "completed", "incomplete_details": "odd"}, "completed"),
        ({"finish_reason": 3}, None),
    ],
)
def test_where_a_signal_is_found(metadata, signal):
    assert finish_signal(AIMessage("x", response_metadata=metadata)) == signal


def test_a_refusal_is_told_by_the_content():
    assert finish_signal(AIMessage("", additional_kwargs={"refusal": "no"})) == "refusal"
    assert finish_signal(AIMessage([{"type": "refusal", "refusal": "no"}])) == "refusal"
    assert finish_signal(AIMessage([{"type": "text", "text": "refusal"}])) is None


def test_a_signal_that_nobody_knows_means_nothing():
    message = AIMessage("x", response_metadata={"finish_reason": "tired"})
    assert finish_meaning(message, ModelFacts(finish={"stop": "normal"})) is None
    assert finish_meaning(AIMessage("x"), ModelFacts(finish={"stop": "normal"})) is None


# -- the page ------------------------------------------------------------------------------------


def shown(facts):
    """The cells of a row, as the page writes them."""

    def cell(value):
        return "?" if value is None else str(value)

    cache = cell(facts.cache) + (f", {facts.cache_breakpoints}" if facts.cache_breakpoints else "")
    flags = {"image": facts.image_input, "pdf": facts.pdf_input, "audio": facts.audio_input}
    takes = ", ".join(name for name, flag in flags.items() if flag)
    unknown = all(flag is None for flag in flags.values())
    return [
        cell(facts.context_tokens),
        cell(facts.max_output_tokens),
        cache,
        cell(facts.cache_min_tokens),
        takes or ("?" if unknown else "none"),
    ]


def test_the_page_shows_the_table_and_who_brings_it():
    page = read("docs/model-facts.md")
    found = {code(row[0]): (row[1:6], code(row[6])) for row in rows(section(page, "## What is built in"))}
    given = {item.value[0]: item for item in Kernel().hooks("deepagents_model_facts")}
    assert found == {key: (shown(item.value[1]), item.plugin) for key, item in given.items()}
    assert set(given) == set(ROWS)


def test_the_page_explains_every_field():
    table = rows(read("docs/model-facts.md").partition("## Where facts")[0])
    assert [code(row[0]) for row in table] == [field.name for field in attrs.fields(ModelFacts)]
    assert all(row[1].endswith(".") for row in table)
