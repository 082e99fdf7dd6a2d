"""The HTTP interface for programs: labels, records, drafts, uploads, tokens and Archives, below `/api/`."""
