"""Archives among each other: what they sign, and how an Original moves. No clock, no chance and no store of its own."""
