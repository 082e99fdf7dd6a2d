"""Items: their records, life cycle, relations, files and versions, and the catalogue of them."""
