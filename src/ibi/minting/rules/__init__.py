"""Rules of minting, without I/O."""
