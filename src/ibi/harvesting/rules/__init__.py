"""Rules of harvesting, without I/O."""
