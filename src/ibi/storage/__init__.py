"""Databases, locks and files: the means of every store."""
