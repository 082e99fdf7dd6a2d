"""Resolutions over a network: whom to ask, within which limits, and how Archives are thanked."""
