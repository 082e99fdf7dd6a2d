"""The HTTP API of resolver."""
