"""State behind the screens: snapshots of the sandbox, pages of lists, searches, recordings."""
