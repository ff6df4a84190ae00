"""The two themes of the sandbox; Textual's own themes can be chosen by name as well."""

from __future__ import annotations

from textual.theme import Theme

DARK = Theme(
    name="sandbox-dark",
    primary="#3d8fd1",
    secondary="#7a88cf",
    accent="#e0a84c",
    foreground="#d5dce3",
    background="#10151b",
    surface="#151c24",
    panel="#22303d",
    success="#6fbf73",
    warning="#e5b454",
    error="#e0646b",
    dark=True,
    variables={"footer-key-foreground": "#e0a84c", "footer-background": "#22303d", "border": "#3d8fd1"},
)
LIGHT = Theme(
    name="sandbox-light",
    primary="#1f6fae",
    secondary="#5a64ad",
    accent="#a3620a",
    foreground="#1c2733",
    background="#f4f1ea",
    surface="#fbf9f4",
    panel="#e4ded2",
    success="#2e7d40",
    warning="#9a6700",
    error="#b3343c",
    dark=False,
    variables={"footer-key-foreground": "#a3620a", "footer-background": "#e4ded2", "border": "#1f6fae"},
)
