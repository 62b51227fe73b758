"""``deepagents-kernel plugins``: commands about plugins, none of which imports a third party itself."""
