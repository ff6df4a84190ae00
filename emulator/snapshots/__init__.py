"""Snapshots: named copies of the whole state of a sandbox, in files or in memory."""
