"""Plugins of a kernel: their facts, registration, hook calls, settings."""
