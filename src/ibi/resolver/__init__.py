"""The resolver's rules, without any I/O: which Archives to ask for an item, which answers to believe, and where to
send the reader (R §8.2)."""
