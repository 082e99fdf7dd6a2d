"""Citations of an item, in the styles that people write and in the formats that programs read. Without I/O."""
