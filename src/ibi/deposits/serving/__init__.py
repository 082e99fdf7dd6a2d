"""Serving of deposits."""
