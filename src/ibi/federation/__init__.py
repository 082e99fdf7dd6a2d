"""Archives among each other: signed messages, and how an Original moves. The package has no clock, no randomness and no
store of its own."""
