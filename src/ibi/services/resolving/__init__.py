"""Resolutions over a network: the Archives asked, the limits, and acknowledgments."""
