"""Rules of copies, without I/O."""
