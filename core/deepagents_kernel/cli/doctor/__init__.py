"""``deepagents-kernel doctor``: look for what is wrong, and say what to do."""
