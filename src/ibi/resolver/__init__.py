"""The resolver's rules, without any I/O: whom to ask for an item, what to believe, where to send people (R §8.2)."""
