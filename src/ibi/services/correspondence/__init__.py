"""Mails between people about items and drafts, and requests of readers."""
