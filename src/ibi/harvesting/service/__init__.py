"""Services of harvesting."""
