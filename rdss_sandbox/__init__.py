"""What other people's Python imports of the sandbox: its client, the shapes of its API, the fixtures."""
