"""What functions are: their configuration, code, versions and aliases."""
