"""What the screens know: the state of the sandbox, places in lists, recordings."""
