"""Services of copies."""
