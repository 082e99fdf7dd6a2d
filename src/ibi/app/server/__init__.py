"""Builds the server of a data directory: one module for each capability, opened in the order of `opening`."""
