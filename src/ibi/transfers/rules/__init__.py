"""Rules of transfers, without I/O."""
