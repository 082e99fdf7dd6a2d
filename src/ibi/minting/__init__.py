"""Minting: the rules by which labels are given out. No clock, no store and no network of its own."""
