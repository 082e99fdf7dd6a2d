"""The resolver's rules, without any I/O: the Archives to ask, the answers to believe, and the redirect (R §8.2)."""
