"""Stores of people."""
