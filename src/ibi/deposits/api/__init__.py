"""The HTTP API of deposits."""
