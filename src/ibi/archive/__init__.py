"""The answers of an Archive to resolvers."""
