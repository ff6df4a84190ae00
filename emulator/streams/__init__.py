"""Streams as the sandbox's own parts see them, whoever has them."""
