"""How an item is cited: in the styles that people write, and in the formats that their programs read. Pure."""
