"""Stores of items."""
