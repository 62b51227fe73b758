"""A kit for behaviours that make up for a model's habits: nudges, limits and guards, for any model.

Names are imported when they are first used. None of them knows a provider, a tool or a plugin: what differs
from model to model is passed in as data.
"""

from deepagents_kernel._lazy import lazy_exports

_HERE = "deepagents_kernel.behaviour"

_EXPORTS = {
    "AnswerGuard": f"{_HERE}.guards:AnswerGuard",
    "AnsweredCall": f"{_HERE}.turns:AnsweredCall",
    "Idle": f"{_HERE}.progress:Idle",
    "InternalMessages": f"{_HERE}.messages:InternalMessages",
    "ToolVocabulary": f"{_HERE}.vocabulary:ToolVocabulary",
    "Turn": f"{_HERE}.turns:Turn",
    "TurnLimits": f"{_HERE}.progress:TurnLimits",
    "current_turn": f"{_HERE}.turns:current_turn",
    "fired": f"{_HERE}.flags:fired",
    "flag_update": f"{_HERE}.flags:flag_update",
    "idle_since_progress": f"{_HERE}.progress:idle_since_progress",
    "is_harness_made": f"{_HERE}.messages:is_harness_made",
    "is_uninformative": f"{_HERE}.progress:is_uninformative",
    "map_ai_messages": f"{_HERE}.responses:map_ai_messages",
    "merge_updates": f"{_HERE}.flags:merge_updates",
    "name_words": f"{_HERE}.vocabulary:name_words",
    "repeated_calls": f"{_HERE}.progress:repeated_calls",
    "tool_names": f"{_HERE}.vocabulary:tool_names",
}

__getattr__, __dir__ = lazy_exports(__name__, exports=lambda: _EXPORTS, absent=dict)
