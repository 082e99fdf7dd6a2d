"""File_summaries of items."""
