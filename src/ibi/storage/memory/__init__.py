"""Stores that forget everything when the process ends: for tests."""
