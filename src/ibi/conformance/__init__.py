"""Checks of the answers of Archives and resolvers of any make, clause by clause of the standard."""
