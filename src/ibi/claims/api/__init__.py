"""The HTTP API of claims."""
