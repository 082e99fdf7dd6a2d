"""The membership of Archives in a resolver: registration, inclusion, keys."""
