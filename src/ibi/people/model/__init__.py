"""Values of people."""
