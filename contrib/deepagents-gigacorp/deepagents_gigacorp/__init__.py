"""Models of Gigacorp, an invented vendor, for deepagents-kernel. Everything is found by entry points."""
