"""The built-in harness profiles, one plugin for each family of models."""
