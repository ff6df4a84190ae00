"""The contract: JSON Schemas, the typed envelope, sequences, error codes, sample messages."""
