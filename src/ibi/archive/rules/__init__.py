"""Rules of archive, without I/O."""
