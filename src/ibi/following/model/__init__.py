"""Values of following."""
