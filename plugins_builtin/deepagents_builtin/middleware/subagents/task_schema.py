"""What the model may write in a ``task`` call."""

from __future__ import annotations

from typing import Any, Final

from pydantic import BaseModel, Field, ValidationError, model_validator
from pydantic_core import InitErrorDetails

TASK_TOOL_NAME: Final = "task"

#: Injected by the tool node before validation; not for the model, and not an error either.
_INJECTED: Final = frozenset({"runtime"})


class TaskToolSchema(BaseModel):
    """Arguments of the ``task`` tool."""

    description: str = Field(
        description=(
            "The whole assignment: goal, context, constraints, and what the report must contain. "
            "The subagent knows nothing else."
        )
    )
    subagent_type: str = Field(
        description="Name of the subagent, exactly as it is listed in the tool description."
    )

    @model_validator(mode="before")
    @classmethod
    def _refuse_unknown_arguments(cls, arguments: Any) -> Any:
        """Refuse what the model invented: instructions under another key would be lost without a trace."""
        if not isinstance(arguments, dict):
            return arguments
        unknown = sorted(
            str(key) for key in arguments if key not in cls.model_fields and key not in _INJECTED
        )
        if unknown:
            # Each error needs a place: the tool node drops those without, and the model would read nothing.
            raise ValidationError.from_exception_data(
                cls.__name__, [_unknown(key, arguments[key]) for key in unknown]
            )
        return arguments


def _unknown(key: str, value: Any) -> InitErrorDetails:
    text = (
        f"`{key}` is not an argument of `{TASK_TOOL_NAME}`, so the subagent was not started. It takes "
        "`description` and `subagent_type` only: put every instruction for the subagent into `description`."
    )
    return InitErrorDetails(type="value_error", loc=(key,), input=value, ctx={"error": ValueError(text)})
