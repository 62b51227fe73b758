"""The version, in a module of its own: reading it must cost nothing."""

__version__ = "0.1.0"
