"""HTTP itself: connections, requests, headers, errors and metrics; below every other part of the web layer."""
