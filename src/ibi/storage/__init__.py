"""Adapters for this machine: databases, files, locks, clocks."""
