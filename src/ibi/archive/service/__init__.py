"""Services of archive."""
