"""Checks of a data directory for problems."""
