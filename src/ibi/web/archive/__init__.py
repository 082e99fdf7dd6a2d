"""What an Archive serves: its answers to resolvers, its items and their files, and their metadata."""
