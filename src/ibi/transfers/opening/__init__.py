"""Builds the services of transfers from the settings."""
