"""The HTTP API of harvesting."""
