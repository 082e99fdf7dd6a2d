"""A small collection to look at: every start puts in the same bytes, those of files in this package."""
