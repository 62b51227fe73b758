"""Files in a folder of the local disk."""
