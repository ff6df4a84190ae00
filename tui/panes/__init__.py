"""Widgets with a task of their own: they ask the sandbox and open dialogs."""
