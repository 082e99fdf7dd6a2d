"""The HTTP API for programs: labels, records, drafts, uploads, tokens and Archives, below `/api/`."""
