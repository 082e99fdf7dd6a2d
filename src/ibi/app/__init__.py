"""The composition of all parts of a server."""
