"""Pages of deposits."""
