"""Built-in models plugins, one folder each."""
