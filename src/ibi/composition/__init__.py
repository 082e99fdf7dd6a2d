"""Builds everything from the settings, for a command or a server. Only this package knows all adapters."""
