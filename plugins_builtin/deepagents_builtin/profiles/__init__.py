"""The built-in profiles: how models are constructed, and how agents run on them."""
