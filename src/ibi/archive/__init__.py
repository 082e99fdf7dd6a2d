"""The rules of an Archive, without any I/O: the life cycle of items (R §5) and the answers about them (R §9)."""
