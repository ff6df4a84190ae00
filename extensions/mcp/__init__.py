"""``sandbox mcp``: an agent reads a sandbox, and changes it where that was allowed."""
