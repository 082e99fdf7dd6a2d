"""Membership of Archives in a resolver: registrations and inclusions, on both sides."""
