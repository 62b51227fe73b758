"""Built-in backends plugins, one folder each."""
