"""Which Archives belong to a resolver: registrations and inclusions, on both sides."""
