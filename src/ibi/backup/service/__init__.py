"""Services of backup."""
