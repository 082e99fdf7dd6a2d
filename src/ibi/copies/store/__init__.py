"""Stores of copies."""
