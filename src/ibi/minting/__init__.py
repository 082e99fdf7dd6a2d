"""Minting: the rules by which labels are assigned, without a clock, store or network of their own."""
