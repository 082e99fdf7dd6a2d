"""Demo of app."""
