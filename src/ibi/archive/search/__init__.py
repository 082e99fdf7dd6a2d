"""What a search of the catalogue looks at, and how its words are read: rules without a database."""
