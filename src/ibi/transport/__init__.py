"""HTTP clients for other services."""
