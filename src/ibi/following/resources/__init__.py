"""Requests and answers of the API about following, as structs."""
