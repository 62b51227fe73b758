"""Built-in middleware plugins, one folder each."""
