"""The ``model.scripted`` plugin: a model that plays turns from a file."""
