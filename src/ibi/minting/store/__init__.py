"""Stores of minting."""
