"""Commands of following."""
