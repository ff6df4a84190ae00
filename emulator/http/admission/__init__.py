"""Who may call a port."""
