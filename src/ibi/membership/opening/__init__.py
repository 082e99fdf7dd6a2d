"""Builds the services of membership from the settings."""
