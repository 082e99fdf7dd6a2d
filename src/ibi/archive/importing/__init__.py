"""Records of other systems, read into descriptions of items."""
