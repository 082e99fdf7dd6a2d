"""Services of resolver."""
