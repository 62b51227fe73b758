"""The ``model.offline`` plugin: a model that works by fixed rules, without network, key or weights."""
