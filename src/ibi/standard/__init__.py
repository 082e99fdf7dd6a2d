"""The values of the standard, and the means that all parts share. No module here does I/O."""
