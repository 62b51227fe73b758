"""Which plugins are on: enable, disable, allow, required, autoload, from sources of rising precedence."""

from pathlib import Path

import pytest

from deepagents_kernel.config.source import Configuration, Level, Source, Switches
from deepagents_kernel.errors import PluginRuleError
from deepagents_kernel.plugins.rules import Default, apply_rules
from deepagents_kernel.plugins.selectors import Candidate

KNOWN = {
    "middleware.core": (Candidate("middleware.core", scaffolding=True), Default(on=True, installed=False)),
    "middleware.plain": (Candidate("middleware.plain"), Default(on=True, installed=False)),
    "middleware.rubric": (Candidate("middleware.rubric"), Default(on=False, installed=False)),
    "middleware.audit": (Candidate("middleware.audit", "deepagents-audit"), Default(on=True, installed=True)),
    "backend.s3": (Candidate("backend.s3", "deepagents-s3"), Default(on=True, installed=True)),
    "backend.gcs": (Candidate("backend.gcs", "deepagents-gcs"), Default(on=False, installed=True)),
    "bundle.mine": (Candidate("bundle.mine"), Default(on=True, installed=False, exempt=True)),
}
BUILTIN = ("middleware.core", "middleware.plain", "middleware.rubric")
USER, PROJECT, ENVIRONMENT, LINE, CODE = (
    Level.USER,
    Level.PROJECT,
    Level.ENVIRONMENT,
    Level.COMMAND_LINE,
    Level.CODE,
)


def source(level, **switches):
    def locate(key):
        return f"{level.name.lower()}:{'.'.join(key[1:])}"

    return Source(level, level.name.lower(), Path("x"), Switches(**switches), locate=locate)


def rules(*sources):
    candidates = [candidate for candidate, _ in KNOWN.values()]
    guarded = [
        Candidate(item.name, "deepagents-kernel") if item.name in BUILTIN else item for item in candidates
    ]
    defaults = [default for _, default in KNOWN.values()]
    return apply_rules(Configuration(tuple(sources)), candidates, defaults, guarded=guarded)


def decisions(*sources):
    found = rules(*sources)
    assert found.problems == ()
    return dict(zip(KNOWN, found.decisions, strict=True))


def on(*sources):
    return [name for name, decision in decisions(*sources).items() if decision.on]


DEFAULT = ["middleware.core", "middleware.plain", "middleware.audit", "backend.s3", "bundle.mine"]


def without(*names):
    return [name for name in DEFAULT if name not in names]


def test_what_is_on_when_nobody_says_anything():
    assert on() == DEFAULT


def test_the_last_word_counts():
    off = source(USER, disable=("middleware.audit",))
    assert on(off) == without("middleware.audit")
    assert on(off, source(PROJECT, enable=("audit",))) == DEFAULT
    assert on(source(USER, enable=("audit",)), source(PROJECT, disable=("audit",))) == without(
        "middleware.audit"
    )


def test_who_decided_is_on_the_decision():
    found = decisions(source(USER, disable=("audit",)), source(PROJECT, enable=("audit",)))
    assert found["middleware.audit"].why == "project:enable.audit"
    assert [(step.word, step.where) for step in found["middleware.audit"].steps] == [
        ("off", "user:disable.audit"),
        ("on", "project:enable.audit"),
    ]
    assert found["middleware.plain"].why == ""


def test_disable_lists_add_up_and_enable_lists_replace():
    assert on(source(USER, disable=("audit",)), source(PROJECT, disable=("s3",))) == without(
        "middleware.audit", "backend.s3"
    )
    rubric = source(USER, enable=("rubric",))
    assert "middleware.rubric" in on(rubric)
    assert "middleware.rubric" not in on(rubric, source(PROJECT, enable=("gcs",)))


@pytest.mark.spec("BY-083")
def test_an_empty_list_is_not_an_unset_one():
    rubric = source(USER, enable=("rubric",))
    assert "middleware.rubric" in on(rubric, source(PROJECT, enable=None))
    assert "middleware.rubric" not in on(rubric, source(PROJECT, enable=()))
    assert on(source(PROJECT, allow=None)) == DEFAULT
    with_core = source(PROJECT, allow=("middleware.core",))
    assert on(with_core) == ["middleware.core", "bundle.mine"]
    assert on(source(PROJECT, allow=())) == ["bundle.mine"]


def test_autoload_is_about_installed_plugins_alone():
    off = source(ENVIRONMENT, autoload=False)
    assert on(off) == ["middleware.core", "middleware.plain", "bundle.mine"]
    assert decisions(off)["backend.s3"].why == "environment:autoload"
    assert "backend.s3" in on(source(USER, enable=("s3",)), off)
    assert on(off, source(CODE, autoload=True)) == DEFAULT


def test_a_plain_name_overrules_a_wildcard_and_a_distribution_of_the_same_source():
    assert on(source(USER, disable=("backend.*",), enable=("backend.s3",))) == DEFAULT
    assert on(source(USER, disable=("deepagents-audit",), enable=("audit",))) == DEFAULT
    assert "backend.gcs" not in on(source(USER, enable=("backend.*",), disable=("gcs",)))


def test_a_wildcard_of_an_inner_source_overrules_a_plain_name():
    assert on(source(USER, enable=("s3",)), source(PROJECT, disable=("backend.*",))) == without("backend.s3")


@pytest.mark.parametrize(
    "switches",
    [
        {"enable": ("audit",), "disable": ("middleware.audit",)},
        {"enable": ("*.audit",), "disable": ("deepagents-audit",)},
    ],
)
def test_a_source_that_contradicts_itself_is_refused(switches):
    (problem,) = rules(source(PROJECT, **switches)).problems
    assert isinstance(problem, PluginRuleError)
    assert problem.plugin == "middleware.audit"
    assert switches["enable"][0] in problem.reason
    assert switches["disable"][0] in problem.reason
    assert "project:enable" in problem.source


def test_single_switches_are_read_in_order_and_replace_no_list():
    user = source(USER, enable=("rubric",))
    line = source(LINE, single=(("gcs", True), ("audit", False), ("backend.*", False), ("gcs", True)))
    assert on(user, line) == [
        "middleware.core",
        "middleware.plain",
        "middleware.rubric",
        "backend.gcs",
        "bundle.mine",
    ]


def test_scaffolding_is_never_switched_off():
    found = rules(source(PROJECT, disable=("core",)))
    (problem,) = found.problems
    assert problem.plugin == "middleware.core"
    assert "replaced" in problem.reason
    assert "replaces=" in problem.hint
    skipping = decisions(source(PROJECT, disable=("middleware.*",)))
    assert skipping["middleware.core"].on
    assert "'middleware.*'" in skipping["middleware.core"].skipped
    assert not skipping["middleware.plain"].on


@pytest.mark.parametrize("key", ["enable", "disable", "required"])
def test_an_unknown_name_is_an_error_with_the_nearest(key):
    (problem,) = rules(source(ENVIRONMENT, **{key: ("midleware.audit",)})).problems
    assert problem.plugin == "midleware.audit"
    assert "nearest: middleware.audit" in problem.hint
    assert f"environment:{key}.midleware.audit" in str(problem)


def test_what_matches_nothing_and_need_not_is_reported_apart():
    found = rules(source(USER, disable=("zebra.*",), allow=("deepagents-kernel", "deepagents-later")))
    assert found.problems == ()
    assert found.unmatched == (
        ("zebra.*", "user:disable.zebra.*"),
        ("deepagents-later", "user:allow.deepagents-later"),
    )


def test_a_closed_list_holds_whatever_an_inner_source_says():
    outer = source(USER, allow=("deepagents-kernel", "audit"))
    inner = (source(PROJECT, allow=("*",)), source(CODE, enable=("s3",)))
    assert on(outer, *inner) == without("backend.s3")
    blocked = decisions(outer, *inner)["backend.s3"]
    assert blocked.blocked
    assert blocked.why == "user:allow"


def test_two_closed_lists_allow_what_both_name():
    both = (
        source(USER, allow=("deepagents-kernel", "audit", "s3")),
        source(PROJECT, allow=("deepagents-kernel", "s3")),
    )
    assert on(*both) == without("middleware.audit")


def test_the_kernels_distribution_stands_for_built_ins_in_closed_lists_only():
    assert on(source(USER, allow=("deepagents-kernel",))) == [
        "middleware.core",
        "middleware.plain",
        "bundle.mine",
    ]
    (problem,) = rules(source(USER, disable=("deepagents-kernel",))).problems
    assert "no plugin named" in problem.reason


def test_required_names_add_up_and_say_who_requires():
    found = decisions(source(USER, required=("audit",)), source(PROJECT, required=("deepagents-s3",)))
    assert found["middleware.audit"].required == "user:required.audit"
    assert found["backend.s3"].required == "project:required.deepagents-s3"
    assert found["middleware.plain"].required == ""


def test_a_package_that_is_required_means_what_is_on_by_default():
    found = decisions(source(USER, required=("deepagents-kernel",)))
    assert found["middleware.plain"].required == "user:required.deepagents-kernel"
    assert found["middleware.rubric"].required == ""
    assert decisions(source(USER, required=("rubric",)))["middleware.rubric"].required


def test_strict_is_whatever_the_innermost_source_says():
    assert rules().strict == ""
    assert rules(source(USER, strict=True)).strict == "user:strict"
    assert rules(source(USER, strict=True), source(CODE, strict=False)).strict == ""
