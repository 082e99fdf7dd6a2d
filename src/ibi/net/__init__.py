"""HTTP, mail and names: the means of every client."""
