"""People and tokens: their administration, signing in, and hashes of secrets."""
