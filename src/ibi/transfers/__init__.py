"""Transfers of Originals between Archives."""
