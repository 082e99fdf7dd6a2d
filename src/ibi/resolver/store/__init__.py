"""Stores of resolver."""
