"""The HTTP interface: the only layer that knows status codes."""
