"""Items of an Archive: deposits, relations, transfers, searches, and the store that keeps them."""
