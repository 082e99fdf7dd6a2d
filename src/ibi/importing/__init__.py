"""Descriptions read from records of other systems."""
