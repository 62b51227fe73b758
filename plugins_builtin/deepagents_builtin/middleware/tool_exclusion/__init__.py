"""Keeps the tools that a profile excludes from being offered and from being run."""
