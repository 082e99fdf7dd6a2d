"""Follows of other Archives, and webhooks that tell of changes here."""
