"""Asking other services over HTTP."""
