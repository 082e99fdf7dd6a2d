"""Requests to other servers about copies."""
