"""Rules of check, without I/O."""
