"""Accounts: who may do what. No clock, no chance and no store of its own."""
