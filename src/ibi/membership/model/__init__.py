"""Values of membership."""
