"""Builds the services of items from the settings."""
