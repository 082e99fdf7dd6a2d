"""Citations of items, in named styles and in formats for programs."""
