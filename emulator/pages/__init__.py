"""The frame of every page that the sandbox writes or serves."""
