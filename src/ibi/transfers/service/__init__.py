"""Services of transfers."""
