"""Rules of deposits, without I/O."""
