"""The HTTP API of reading."""
