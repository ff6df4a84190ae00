"""Contracts: what a message is, who judges it, and with which words. ``rdss`` is the first."""
