"""Adapters that keep things on this machine: databases, files, locks, clocks."""
