"""Minting for the callers of a server: one queue, and the guard against a second instance."""
