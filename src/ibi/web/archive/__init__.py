"""The web interface of an Archive: its answers to resolvers, its items with their files, and their metadata."""
