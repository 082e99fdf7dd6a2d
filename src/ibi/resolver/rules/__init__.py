"""Rules of resolver, without I/O."""
