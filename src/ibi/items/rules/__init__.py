"""Rules of items, without I/O."""
