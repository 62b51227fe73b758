"""The rules that all backends share: paths, globs, windows of lines, replacement, search, formatting."""
