"""Backups of data directories, and what is put back from them."""
