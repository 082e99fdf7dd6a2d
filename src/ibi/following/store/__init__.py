"""Stores of following."""
