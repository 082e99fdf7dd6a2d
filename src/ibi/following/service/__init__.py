"""Services of following."""
