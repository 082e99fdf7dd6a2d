"""Adapters of the ports without a disk: quick, and forgotten at the end of a test."""
