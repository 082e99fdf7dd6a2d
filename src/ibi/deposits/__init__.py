"""Drafts, deposits and reviews."""
