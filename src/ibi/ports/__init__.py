"""What the applications ask of the world. Adapters live in `storage` and `transport`; one contract suite tries each."""
