"""Services of deposits."""
