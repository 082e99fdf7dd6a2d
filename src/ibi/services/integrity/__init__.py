"""Content verified as it is read, and the record of damage."""
