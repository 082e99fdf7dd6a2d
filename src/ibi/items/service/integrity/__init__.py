"""Integrity of items."""
