"""Services of claims."""
