"""Readers for records of other systems, which become descriptions of items."""
