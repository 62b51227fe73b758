"""The ``deepagents-kernel`` command."""
