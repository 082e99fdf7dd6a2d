"""Items of an Archive: deposits, relations, transfers, searches, verification, and the store."""
