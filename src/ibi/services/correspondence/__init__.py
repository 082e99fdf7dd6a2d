"""What people write to each other about items and drafts: mails, and requests of readers."""
