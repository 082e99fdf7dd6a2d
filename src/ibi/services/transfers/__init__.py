"""Originals that move between Archives: offering, releasing, taking over, and knowing afterwards."""
