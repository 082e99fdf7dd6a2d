"""What readers see of items: pages, files, records."""
