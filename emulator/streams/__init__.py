"""Streams as the sandbox's own components see them, over the engine or an upstream."""
