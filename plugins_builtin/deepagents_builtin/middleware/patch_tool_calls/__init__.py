"""Answers tool calls that an interrupted run left without a result."""
