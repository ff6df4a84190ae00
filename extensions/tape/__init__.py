"""Tapes: what passed a sandbox, in a file, to look at and to replay."""
