"""Commands of deposits."""
