"""Drafts: items that were sent to a server and are not published yet."""
