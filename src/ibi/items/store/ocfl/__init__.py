"""Ocfl of items."""
