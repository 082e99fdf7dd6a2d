"""Commands of reading."""
