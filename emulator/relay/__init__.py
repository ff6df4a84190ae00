"""Listeners in front of a real upstream: LocalStack, AWS, another emulator, or a broker."""
