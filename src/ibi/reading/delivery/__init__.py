"""Delivery of reading."""
