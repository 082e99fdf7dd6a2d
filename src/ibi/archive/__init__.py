"""The Archive's rules, without any I/O: what may become of an item (R §5), and what is answered for it (R §9)."""
