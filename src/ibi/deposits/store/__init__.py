"""Stores of deposits."""
