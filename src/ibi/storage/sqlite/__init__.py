"""Stores in SQLite databases."""
