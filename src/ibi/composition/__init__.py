"""Builds everything from the settings, for a command or a server: the one place that knows all adapters."""
