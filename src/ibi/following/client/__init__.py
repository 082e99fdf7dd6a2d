"""Requests to other servers about following."""
