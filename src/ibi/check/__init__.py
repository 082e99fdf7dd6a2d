"""Checks of a server of any make against the standard, clause by clause."""
