"""What a resolver serves: persistent URLs, its register, and why an item was not found."""
