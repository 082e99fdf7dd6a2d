"""Follows of other Archives, and webhooks that hear of this Archive's own changes."""
