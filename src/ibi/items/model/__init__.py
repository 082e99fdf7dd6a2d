"""Values of items."""
