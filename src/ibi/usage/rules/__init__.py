"""Rules of usage, without I/O."""
