"""Stores of membership."""
