"""Pages of reading."""
