"""A small demonstration collection. Every start deposits the same bytes, from the files in this package."""
