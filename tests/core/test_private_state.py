"""Private keys and conflicting reducers, read from state schemas."""

from __future__ import annotations

import dataclasses
import operator
from typing import TYPE_CHECKING, Annotated, Any, Generic, NotRequired, Required, TypedDict, TypeVar

import pytest
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import OmitFromInput, OmitFromOutput, OmitFromSchema, PrivateStateAttr
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AnyMessage
from langgraph.channels import BinaryOperatorAggregate, EphemeralValue, LastValue
from langgraph.channels.delta import DeltaChannel
from langgraph.managed import IsLastStep
from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from deepagents_kernel.contracts.messages import messages_reducer
from deepagents_kernel.contracts.messages_channel import MessagesChannel
from deepagents_kernel.contracts.private_state import (
    UnresolvableSchemaError,
    private_state_field_names,
    state_hints,
)
from deepagents_kernel.contracts.schema_conflicts import Conflict, conflicting_keys, schema_channels
from deepagents_kernel.contracts.state import DeepAgentState
from deepagents_kernel.errors import DeepAgentsError

if TYPE_CHECKING:
    from somewhere import Missing

T = TypeVar("T")
Hidden = TypeAliasType("Hidden", Annotated[str, PrivateStateAttr])
HiddenList = TypeAliasType("HiddenList", list[Annotated[T, PrivateStateAttr]], type_params=(T,))
Endless = TypeAliasType("Endless", "list[Endless]")


class Everywhere(TypedDict):
    plain: str
    direct: Annotated[str, PrivateStateAttr]
    optional: NotRequired[Annotated[str, PrivateStateAttr]]
    required: Required[Annotated[str, PrivateStateAttr]]
    outside: Annotated[NotRequired[str], PrivateStateAttr]
    argument: list[Annotated[str, PrivateStateAttr]]
    deep: NotRequired[dict[str, list[Annotated[int, PrivateStateAttr]] | None]]
    callback: Any
    beside: Annotated[list[str], "a note", PrivateStateAttr, operator.add]
    alias: Hidden
    generic_alias: HiddenList[int]
    endless: Endless


class ByValue(TypedDict):
    equal: Annotated[str, OmitFromSchema(input=True, output=True)]
    default: Annotated[str, OmitFromSchema()]
    only_input: Annotated[str, OmitFromInput]
    only_output: Annotated[str, OmitFromOutput]
    neither: Annotated[str, OmitFromSchema(input=False, output=False)]
    other: Annotated[str, True, {"input": True, "output": True}]


class Broken(AgentState[Any]):
    fine: Annotated[str, PrivateStateAttr]
    secret: Annotated[Missing, PrivateStateAttr]


class BelowBroken(Broken):
    more: int


class Odd(TypedDict):
    secret: Annotated[str, PrivateStateAttr]
    b: 1 / 0


@dataclasses.dataclass
class Data:
    shown: str
    hidden: Annotated[str, PrivateStateAttr] = ""


class Model(BaseModel):
    shown: str = ""
    hidden: Annotated[str, PrivateStateAttr] = Field(default="")
    nested: list[Annotated[int, PrivateStateAttr]] = []


class BrokenModel(BaseModel):
    secret: Annotated[Missing, PrivateStateAttr] = None


class GenericModel(BaseModel, Generic[T]):
    hidden: Annotated[T | None, PrivateStateAttr] = None


class TestPrivateNames:
    @pytest.mark.spec("STATE-012", "VIS-043")
    def test_the_marker_counts_at_any_depth(self):
        assert private_state_field_names(Everywhere) == set(Everywhere.__annotations__) - {
            "plain",
            "callback",
            "endless",
        }

    @pytest.mark.spec("STATE-013")
    def test_the_marker_counts_by_value_and_its_weaker_relatives_do_not(self):
        assert private_state_field_names(ByValue) == {"equal", "default"}

    @pytest.mark.spec("STATE-012", "STATE-016")
    def test_names_of_several_schemas_are_joined_and_inherited_ones_count(self):
        assert private_state_field_names() == frozenset()
        assert private_state_field_names(DeepAgentState) == {"jump_to"}
        assert private_state_field_names(DeepAgentState, Data, ByValue) == {
            "jump_to",
            "hidden",
            "equal",
            "default",
        }

    @pytest.mark.spec("STATE-018")
    @pytest.mark.parametrize(
        ("schema", "names"),
        [
            (Model, {"hidden", "nested"}),
            (GenericModel, {"hidden"}),
            (GenericModel[int], {"hidden"}),
            (Data, {"hidden"}),
            (dict, set()),
        ],
    )
    def test_models_and_dataclasses_are_read_as_well(self, schema, names):
        assert private_state_field_names(schema) == names

    @pytest.mark.spec("STATE-015", "VIS-043")
    @pytest.mark.parametrize("schema", [Broken, BelowBroken, BrokenModel])
    def test_an_unreadable_schema_is_an_error_that_names_the_annotation(self, schema):
        for _ in range(2):
            with pytest.raises(UnresolvableSchemaError) as caught:
                private_state_field_names(DeepAgentState, schema)
        error = caught.value
        assert isinstance(error, DeepAgentsError)
        assert isinstance(error, TypeError)
        assert isinstance(error.__cause__, NameError)
        assert (error.schema, error.key) == (schema, "secret")
        assert "Missing" in error.annotation
        for part in (schema.__qualname__, "'secret'", "Missing", "TYPE_CHECKING"):
            assert part in str(error)

    @pytest.mark.spec("STATE-015")
    @pytest.mark.parametrize("schema", [None, 7, {"secret": str}, ["secret"]])
    def test_what_is_no_schema_is_an_error_too(self, schema):
        with pytest.raises(UnresolvableSchemaError, match="the class itself"):
            private_state_field_names(schema)

    @pytest.mark.spec("STATE-015")
    def test_whatever_an_annotation_raises_it_fails_closed(self):
        with pytest.raises(UnresolvableSchemaError) as caught:
            private_state_field_names(Odd)
        assert (caught.value.key, caught.value.annotation) == ("b", "1 / 0")

    @pytest.mark.spec("STATE-012")
    def test_a_schema_is_evaluated_once(self):
        assert state_hints(Everywhere) is state_hints(Everywhere)
        assert schema_channels(Everywhere) is schema_channels(Everywhere)


def newest(left, right):
    return {**left, **right}


def oldest(left, right):
    return {**right, **left}


class Newest(AgentState[Any]):
    files: NotRequired[Annotated[dict[str, str], newest]]


class NewestPrivate(AgentState[Any]):
    files: Annotated[NotRequired[dict[str, str]], PrivateStateAttr, newest]


class Oldest(AgentState[Any]):
    files: Annotated[dict[str, str], oldest]


class Plain(AgentState[Any]):
    files: dict[str, str]


class Delta(AgentState[Any]):
    files: Annotated[dict[str, str], DeltaChannel(newest)]


class OwnMessages(AgentState[Any]):
    messages: Required[Annotated[list[AnyMessage], operator.add]]


class SpeltOut(AgentState[Any]):
    messages: Required[Annotated[list[AnyMessage], DeltaChannel(messages_reducer, snapshot_frequency=50)]]


class Rarer(AgentState[Any]):
    messages: Required[Annotated[list[AnyMessage], MessagesChannel(snapshot_frequency=200)]]


def lambdas(*reducers):
    return [TypedDict(f"Lambda{n}", {"n": Annotated[int, reducer]}) for n, reducer in enumerate(reducers)]


class TestConflicts:
    @pytest.mark.spec("STATE-001", "STATE-011")
    @pytest.mark.parametrize(
        "schemas",
        [
            [],
            [Newest],
            [AgentState, DeepAgentState],
            [Newest, NewestPrivate, DeepAgentState],
            [DeepAgentState, AgentState],
            [DeepAgentState, SpeltOut],
            [Plain, Plain],
            [Plain, Newest],
            [Plain, Newest, Plain, Newest],
        ],
        ids=lambda schemas: "-".join(schema.__name__ for schema in schemas) or "none",
    )
    def test_no_conflict(self, schemas):
        assert conflicting_keys(schemas) == ()

    @pytest.mark.spec("STATE-001", "STATE-011")
    @pytest.mark.parametrize(
        ("schemas", "found"),
        [
            ([Newest, Oldest, DeepAgentState], [("files", Newest, Oldest)]),
            ([Oldest, Newest, NewestPrivate], [("files", Oldest, Newest), ("files", Oldest, NewestPrivate)]),
            ([Newest, Delta], [("files", Newest, Delta)]),
            ([Newest, Plain], [("files", Newest, Plain)]),
            ([Newest, Plain, DeepAgentState], [("files", Newest, Plain)]),
            ([OwnMessages, DeepAgentState], [("messages", OwnMessages, DeepAgentState)]),
            ([DeepAgentState, Rarer], [("messages", DeepAgentState, Rarer)]),
        ],
    )
    def test_conflict(self, schemas, found):
        assert conflicting_keys(schemas) == tuple(Conflict(*item) for item in found)

    @pytest.mark.spec("STATE-011")
    def test_a_conflict_describes_itself(self):
        (conflict,) = conflicting_keys([Newest, Delta])
        text = conflict.describe()
        for part in ("'files'", "Newest", "Delta", "DeltaChannel(newest)"):
            assert part in text
        (conflict,) = conflicting_keys([Newest, Plain])
        assert "the last value counts" in conflict.describe()

    def test_lambdas_are_compared_by_what_they_do(self):
        make = lambda: lambda a, b: a + b  # noqa: E731
        assert conflicting_keys(lambdas(make(), make())) == ()
        assert len(conflicting_keys(lambdas(lambda a, b: a + b, lambda a, b: b))) == 1
        channels = [DeltaChannel(lambda a, b: a), DeltaChannel(lambda a, b: b)]
        assert len(conflicting_keys(lambdas(*channels))) == 1

    def test_channels_are_told_as_the_host_tells_them(self):
        class Kinds(TypedDict):
            plain: int
            reducer: NotRequired[Annotated[int, operator.add]]
            channel: Annotated[int, EphemeralValue]
            marked: Annotated[int, EphemeralValue(int), PrivateStateAttr]
            note: Annotated[int, "note"]
            managed: IsLastStep

        channels = schema_channels(Kinds)
        assert channels["plain"] is channels["note"] is None
        assert channels["reducer"] is operator.add
        assert isinstance(channels["channel"], EphemeralValue)
        assert channels["channel"] == channels["marked"]

    @pytest.mark.spec("STATE-011")
    @pytest.mark.parametrize(
        ("schemas", "kind"),
        [
            ([Newest, Plain], LastValue),
            ([Plain, Newest], BinaryOperatorAggregate),
            ([Newest, Delta], DeltaChannel),
        ],
    )
    def test_the_host_lets_the_last_one_win(self, schemas, kind):
        """What the check rests on."""

        class First(AgentMiddleware):
            state_schema = schemas[0]

        graph = create_agent(
            FakeListChatModel(responses=["x"]), middleware=[First()], state_schema=schemas[1]
        )
        assert type(graph.channels["files"]) is kind
