"""What the control API has besides the emulator: asynchronous messages and scenarios."""
