"""Catalogue of items."""
