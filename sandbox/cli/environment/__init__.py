"""Commands that start, show, change and end a sandbox."""
