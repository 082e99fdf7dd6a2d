"""A yardstick for Archives and resolvers of any make: checks of what they answer, clause by clause of the standard."""
