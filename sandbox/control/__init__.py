"""Resources of the control API on top of the emulator: asynchronous messages and scenarios."""
