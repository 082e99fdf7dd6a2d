"""Requests and answers of the API about deposits, as structs."""
