"""Copies of items of other Archives."""
