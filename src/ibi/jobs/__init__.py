"""The runner of background jobs, and the limits on what runs at a time."""
