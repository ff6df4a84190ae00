"""The index of every message of every stream, what filters it, and how it is exported."""
