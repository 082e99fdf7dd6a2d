"""A package, so that no `tests` that a careless distribution leaves in site-packages is imported in its place."""
