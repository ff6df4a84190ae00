"""The TUI in a web browser."""
