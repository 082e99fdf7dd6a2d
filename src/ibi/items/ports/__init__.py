"""What items need of the world, as protocols."""
