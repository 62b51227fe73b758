"""The commands about profiles."""
