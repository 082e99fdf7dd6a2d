"""Accounts and their rights. The package has no clock, no randomness and no store of its own."""
