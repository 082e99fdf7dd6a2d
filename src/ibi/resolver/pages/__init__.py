"""Pages of resolver."""
