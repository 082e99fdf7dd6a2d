"""Stores in SQLite, one file each."""
