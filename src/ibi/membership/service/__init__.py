"""Services of membership."""
