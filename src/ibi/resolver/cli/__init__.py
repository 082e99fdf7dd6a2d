"""Commands of resolver."""
