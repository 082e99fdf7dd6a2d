"""Minting of labels."""
