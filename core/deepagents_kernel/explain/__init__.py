"""A plan explained: as text, as JSON, as a difference."""
