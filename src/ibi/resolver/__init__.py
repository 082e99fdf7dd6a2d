"""Resolution of persistent URLs."""
