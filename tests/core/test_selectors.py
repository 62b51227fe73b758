"""Names as users write them."""

import pytest

from deepagents_kernel.plugins.selectors import Candidate, select

PLUGINS = [
    Candidate("middleware.filesystem", scaffolding=True),
    Candidate("backend.filesystem"),
    Candidate("backend.s3", "deepagents-s3"),
    Candidate("middleware.audit-log", "deepagents-audit-log"),
    Candidate("middleware.redact", "Deepagents_Safety.Kit"),
    Candidate("bundle.gate", "Deepagents_Safety.Kit"),
    Candidate("provider.deepagents-acme-models", "deepagents-acme", "models"),
]


def names(selector):
    return [PLUGINS[position].name for position in select(selector, PLUGINS).found]


@pytest.mark.parametrize(
    ("selector", "found"),
    [
        ("middleware.audit-log", ["middleware.audit-log"]),
        (" Middleware.Audit_Log ", ["middleware.audit-log"]),
        ("audit-log", ["middleware.audit-log"]),
        ("AUDIT_LOG", ["middleware.audit-log"]),
        ("deepagents-audit-log", ["middleware.audit-log"]),
        ("deepagents_s3", ["backend.s3"]),
        ("deepagents-safety.kit", ["middleware.redact", "bundle.gate"]),
        ("Deepagents.Safety_kit", ["middleware.redact", "bundle.gate"]),
        ("models", ["provider.deepagents-acme-models"]),
        ("backend.*", ["backend.filesystem", "backend.s3"]),
        ("*.filesystem", ["middleware.filesystem", "backend.filesystem"]),
        ("deepagents-*", [item.name for item in PLUGINS if item.distribution]),
        ("audit-*", ["middleware.audit-log"]),
        ("s[0-9]", ["backend.s3"]),
        ("nothing.*", []),
    ],
)
def test_what_a_name_stands_for(selector, found):
    assert names(selector) == found


def test_a_plain_name_is_not_wide_and_the_others_are():
    assert not select("audit-log", PLUGINS).wide
    assert not select("middleware.audit-log", PLUGINS).wide
    assert select("deepagents-safety.kit", PLUGINS).wide
    assert select("deepagents-s3", PLUGINS).wide
    assert select("backend.*", PLUGINS).wide


def test_a_short_name_of_two_plugins_lists_them():
    selection = select("filesystem", PLUGINS)
    assert selection.found == ()
    assert "several" in selection.reason
    assert selection.hint == "write one of: backend.filesystem, middleware.filesystem"


def test_a_short_name_that_is_a_distribution_of_more_is_ambiguous():
    plugins = [Candidate("middleware.acme", "acme"), Candidate("backend.acme-store", "acme")]
    assert select("acme", plugins).hint == "write one of: backend.acme-store, middleware.acme"
    assert select("acme", plugins[:1]).found == (0,)


@pytest.mark.parametrize(
    ("selector", "near"),
    [
        ("middelware.audit-log", "middleware.audit-log"),
        ("audit-lg", "middleware.audit-log"),
        ("deepagents-s33", "deepagents-s3"),
    ],
)
def test_an_unknown_name_offers_the_nearest(selector, near):
    selection = select(selector, PLUGINS)
    assert selection.reason == f"no plugin named {selector!r}"
    assert near in selection.hint
    assert "plugins list" in selection.hint


def test_a_name_like_no_other_has_no_nearest():
    assert select("zzz", PLUGINS).hint == "see: deepagents-kernel plugins list"
