"""Prompt caching for Fireworks models."""
