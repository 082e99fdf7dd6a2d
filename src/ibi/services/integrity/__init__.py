"""Content that is checked as it is read, and what is known to be damaged."""
