"""Asks a person before the tool calls that the caller, or a rule, wants approved."""
