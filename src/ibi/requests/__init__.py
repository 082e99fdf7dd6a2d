"""Requests of readers for copies of files, and messages to depositors."""
