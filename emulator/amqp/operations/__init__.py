"""What the methods of a channel do."""
