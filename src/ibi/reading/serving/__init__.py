"""Serving of reading."""
