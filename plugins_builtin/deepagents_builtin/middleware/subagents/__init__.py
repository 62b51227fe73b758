"""Delegation: the ``task`` tool, and the agents that it starts."""
