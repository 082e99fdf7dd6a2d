"""Requests and answers of the API as structs: one module for each kind of resource. Nothing here does I/O.

The description of the API is made of them (`tools/openapi.py`). A docstring and a `Meta` description say in it what a
struct and a member are, and a struct is named there without the ending `Resource`, which it has where another class
has the plain name.
"""
