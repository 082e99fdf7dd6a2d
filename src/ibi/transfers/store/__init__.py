"""Stores of transfers."""
