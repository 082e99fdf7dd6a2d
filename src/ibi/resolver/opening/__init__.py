"""Builds the services of resolver from the settings."""
