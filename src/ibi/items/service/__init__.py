"""Services of items."""
