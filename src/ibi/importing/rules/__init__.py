"""Rules of importing, without I/O."""
