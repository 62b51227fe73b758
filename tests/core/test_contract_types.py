"""Small types that callers and plugins share."""

# No `from __future__ import annotations`: it would hide NotRequired from the TypedDicts below.
import copy
import dataclasses
import pickle
from typing import NotRequired, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import SystemMessage

from deepagents_kernel.contracts.permissions import FilesystemPermission, PermissionRuleError
from deepagents_kernel.contracts.subagents import (
    AsyncSubAgent,
    CompiledSubAgent,
    SubAgent,
    known_keys,
    required_keys,
    spec_kind,
)
from deepagents_kernel.contracts.system_message import append_to_system_message
from deepagents_kernel.errors import DeepAgentsError


class TestSystemMessage:
    @pytest.mark.spec("PRM-018", "VIS-040")
    @pytest.mark.parametrize("nothing", [None, SystemMessage(""), SystemMessage([])])
    def test_onto_nothing_it_is_one_block(self, nothing):
        assert append_to_system_message(nothing, "T").content == [{"type": "text", "text": "T"}]

    @pytest.mark.spec("PRM-018", "VIS-040")
    def test_blocks_stay_as_they_are(self):
        blocks = [
            {"type": "text", "text": "a", "cache_control": {"type": "ephemeral"}},
            "plain",
            {"type": "odd", "x": 1},
        ]
        message = SystemMessage(
            copy.deepcopy(blocks), id="1", additional_kwargs={"k": 1}, response_metadata={"m": 2}
        )
        result = append_to_system_message(message, "T")
        assert result.content == [*blocks, {"type": "text", "text": "\n\nT"}]
        assert message.content == blocks
        assert result is not message
        assert (result.id, result.additional_kwargs, result.response_metadata) == ("1", {"k": 1}, {"m": 2})

    @pytest.mark.spec("PRM-018", "VIS-040")
    def test_a_string_becomes_the_first_block(self):
        result = append_to_system_message(append_to_system_message(SystemMessage("S"), "T"), "U")
        assert [block["text"] for block in result.content] == ["S", "\n\nT", "\n\nU"]

    @pytest.mark.spec("PRM-018")
    def test_an_empty_text_adds_nothing(self):
        message = SystemMessage("S")
        assert append_to_system_message(message, "") is message
        assert append_to_system_message(None, "").content == []


class TestPermissions:
    @pytest.mark.spec("PERM-001")
    @pytest.mark.parametrize("path", ["", "a", "**", "./a", "~/a", "!/a", "\\a", None, 3])
    def test_patterns_are_absolute(self, path):
        with pytest.raises(ValueError, match="does not start with '/'"):
            FilesystemPermission(["read"], ["/fine", path])

    @pytest.mark.spec("PERM-002")
    @pytest.mark.parametrize("path", ["/..", "/a/../b", "/a\\..\\b", "/a/..\\b", "/a/.."])
    def test_patterns_do_not_step_upwards(self, path):
        with pytest.raises(ValueError, match=r"'\.\.' component"):
            FilesystemPermission(["read"], [path])

    @pytest.mark.spec("PERM-003")
    @pytest.mark.parametrize("path", ["/~", "/~/a", "/a/~/b", "/a\\~"])
    def test_there_is_no_home_folder(self, path):
        with pytest.raises(NotImplementedError, match="home folder"):
            FilesystemPermission(["read"], [path])

    @pytest.mark.spec("PERM-002", "PERM-003")
    @pytest.mark.parametrize("path", ["/a..b", "/...", "/a/~b", "/b~", "/{a,b}/**", "/[ab]?", "/.env", "/"])
    def test_similar_names_are_fine(self, path):
        assert FilesystemPermission(["read"], [path]).paths == [path]

    @pytest.mark.spec("PERM-004")
    @pytest.mark.parametrize(
        ("arguments", "field", "value", "hint"),
        [
            ((["raed"], ["/a"]), "operations", "raed", "nearest: read"),
            ((["read", "writes"], ["/a"]), "operations", "writes", "nearest: write"),
            ((["execute"], ["/a"]), "operations", "execute", ""),
            (([3], ["/a"]), "operations", 3, ""),
            ((["read"], ["/a"], "denied"), "mode", "denied", "nearest: deny"),
            ((["read"], ["/a"], "DENY"), "mode", "DENY", "nearest: deny"),
            ((["read"], ["/a"], None), "mode", None, ""),
            (("read", ["/a"]), "operations", "read", "write ['read']"),
            ((["read"], "/a"), "paths", "/a", "write ['/a']"),
        ],
    )
    def test_unknown_words_are_refused_with_the_nearest(self, arguments, field, value, hint):
        with pytest.raises(ValueError) as caught:
            FilesystemPermission(*arguments)
        error = caught.value
        assert isinstance(error, PermissionRuleError)
        assert isinstance(error, DeepAgentsError)
        assert (error.field, error.value, error.hint) == (field, value, hint)
        assert hint in str(error)
        assert repr(value) in str(error)

    @pytest.mark.spec("PERM-001", "PERM-004")
    def test_it_is_a_plain_dataclass(self):
        rule = FilesystemPermission(["read", "write"], ["/a"])
        assert rule.mode == "allow"
        assert [field.name for field in dataclasses.fields(rule)] == ["operations", "paths", "mode"]
        assert dataclasses.replace(rule, mode="interrupt") == FilesystemPermission(
            ["read", "write"], ["/a"], "interrupt"
        )
        assert pickle.loads(pickle.dumps(rule)) == rule
        with pytest.raises(ValueError):
            dataclasses.replace(rule, paths=["a"])

    @pytest.mark.spec("PERM-001", "PERM-002", "PERM-003")
    @given(
        st.lists(st.sampled_from(["..", "~", "a", ".", "~a", "..."]), max_size=4), st.sampled_from(["/", ""])
    )
    def test_a_pattern_is_taken_or_refused_by_its_components(self, parts, start):
        path = start + "/".join(parts)
        allowed = path.startswith("/") and not {"..", "~"} & set(parts)
        try:
            FilesystemPermission(["read"], [path])
        except (ValueError, NotImplementedError):
            assert not allowed
        else:
            assert allowed


SHARED_WITH_PARENT = "model tools interrupt_on permissions"


class Priced(SubAgent):
    price: float
    owner: NotRequired[str]


class PricedCompiled(CompiledSubAgent, total=False):
    price: float


class PricedAsync(AsyncSubAgent):
    price: float


class TestSubAgentTypes:
    @pytest.mark.spec("DWN-020")
    def test_they_can_be_subclassed(self):
        spec = Priced(name="n", description="d", price=1.0)
        assert spec == {"name": "n", "description": "d", "price": 1.0}
        assert Priced.__required_keys__ == {"name", "description", "price"}
        assert "owner" in Priced.__optional_keys__
        assert PricedCompiled.__required_keys__ == {"name", "description", "runnable"}
        assert PricedAsync.__required_keys__ == {"name", "description", "graph_id", "price"}

    @pytest.mark.spec("DWN-020")
    @pytest.mark.parametrize(
        ("kind", "cls", "required", "optional"),
        [
            (
                "declarative",
                SubAgent,
                "name description",
                f"{SHARED_WITH_PARENT} system_prompt middleware skills memory response_format mode",
            ),
            ("compiled", CompiledSubAgent, "name description runnable", "mode"),
            (
                "async",
                AsyncSubAgent,
                "name description graph_id",
                "url headers webhook update_strategy notify_parent mode",
            ),
        ],
    )
    def test_their_keys(self, kind, cls, required, optional):
        assert required_keys(kind) == cls.__required_keys__ == set(required.split())
        assert known_keys(kind) == set(required.split()) | set(optional.split())

    @pytest.mark.spec("DWN-020")
    def test_what_is_the_callers_own_can_be_told(self):
        spec = Priced(name="n", description="d", price=1.0, sytem_prompt="typo")
        assert spec.keys() - known_keys(spec_kind(spec)) == {"price", "sytem_prompt"}

    @pytest.mark.spec("DWN-020")
    @pytest.mark.parametrize(
        ("keys", "kind"),
        [
            ("name", "declarative"),
            ("runnable", "compiled"),
            ("graph_id", "async"),
            ("graph_id runnable", "async"),
        ],
    )
    def test_the_kind_is_told_by_the_keys(self, keys, kind):
        assert spec_kind(dict.fromkeys(keys.split())) == kind

    @pytest.mark.spec("DWN-020")
    @pytest.mark.parametrize(
        "cls", [SubAgent, CompiledSubAgent, AsyncSubAgent, Priced, PricedCompiled, PricedAsync]
    )
    def test_their_annotations_resolve(self, cls):
        assert set(get_type_hints(cls)) == cls.__required_keys__ | cls.__optional_keys__
