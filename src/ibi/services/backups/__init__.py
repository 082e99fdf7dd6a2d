"""Backups of data directories, and restores from them."""
