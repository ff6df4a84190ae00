"""Whole features that the rest can do without, a folder each."""
