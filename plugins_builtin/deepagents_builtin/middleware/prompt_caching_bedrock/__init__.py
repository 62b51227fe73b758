"""Prompt caching for Amazon Bedrock models."""
