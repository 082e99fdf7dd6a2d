"""A small collection to look at: made of nothing but code, so that every start of it is the same."""
