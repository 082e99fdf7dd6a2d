"""Rules of citation, without I/O."""
