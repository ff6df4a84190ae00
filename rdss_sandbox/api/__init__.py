"""The control API, declared: every endpoint once, by subject."""
