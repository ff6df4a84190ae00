"""The clauses for producers."""
