"""Rules of membership, without I/O."""
