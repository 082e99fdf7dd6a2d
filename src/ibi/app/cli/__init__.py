"""Commands of app."""
