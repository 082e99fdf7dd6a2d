"""What an Archive follows elsewhere, and who is told of its own changes."""
