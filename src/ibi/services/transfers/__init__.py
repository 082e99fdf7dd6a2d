"""Originals that move between Archives: offered, released, taken over, and recalled after a restore."""
