"""The clauses for consumers."""
