"""Built-in provider profiles."""
