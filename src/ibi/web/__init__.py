"""The web layer: the only layer that knows HTTP status codes."""
