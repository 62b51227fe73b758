"""Configuration: files, environment and arguments, each value with the place where it was written."""
