"""Prompt caching for Anthropic models."""
