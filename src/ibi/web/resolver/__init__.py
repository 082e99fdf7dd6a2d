"""The web interface of a resolver: persistent URLs, the register, and explanations of missing items."""
