"""Requests to other servers about resolver."""
