"""Larger widgets that call the sandbox and open dialogs."""
