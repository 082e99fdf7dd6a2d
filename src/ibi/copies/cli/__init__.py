"""Commands of copies."""
