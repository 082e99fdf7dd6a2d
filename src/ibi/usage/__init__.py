"""Counts of the use of items."""
