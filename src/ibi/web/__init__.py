"""HTTP: the only place that knows status codes."""
