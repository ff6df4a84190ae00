"""A contract that an AsyncAPI 3 document declares."""
