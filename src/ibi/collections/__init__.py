"""Named sets of items."""
