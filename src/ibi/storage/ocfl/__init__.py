"""Content on disk as OCFL 1.1 objects, readable without this software for decades."""
