"""The emulator's faces in front of a real upstream: LocalStack, AWS, another emulator, a broker."""
