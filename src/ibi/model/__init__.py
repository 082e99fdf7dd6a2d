"""Values that cross ports."""
