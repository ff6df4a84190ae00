"""Event source mappings: what reads a stream or a queue and invokes a function with what comes."""
