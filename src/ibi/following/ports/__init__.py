"""Other Archives as sources of changes, and the stores of follows and webhooks, as protocols."""
