"""Files in the state of the running graph."""
