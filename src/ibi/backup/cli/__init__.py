"""Commands of backup."""
