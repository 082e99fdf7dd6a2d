"""HTTP connections with their bounds, and the fast path for answers that need no task."""
