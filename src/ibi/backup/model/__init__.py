"""Values of backup."""
