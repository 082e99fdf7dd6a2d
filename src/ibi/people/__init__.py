"""People and programs: accounts, roles, tokens, sign-in and the audit log."""
