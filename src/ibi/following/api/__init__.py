"""The HTTP API of following."""
