"""What a shell asks of the commands: completion and the manual page."""
