"""Fetching the files that a message refers to (specification, File Download Behaviour)."""
