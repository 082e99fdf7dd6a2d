"""Rules of people, without I/O."""
