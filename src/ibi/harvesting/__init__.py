"""Lists of all items for harvesters and crawlers, and dumps."""
