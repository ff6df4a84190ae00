"""What of the broker is on disk: definitions, messages, and what became of them."""
