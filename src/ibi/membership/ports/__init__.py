"""What membership need of the world, as protocols."""
