"""Commands of doctor."""
