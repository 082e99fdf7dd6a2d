"""Connections and the fast path."""
