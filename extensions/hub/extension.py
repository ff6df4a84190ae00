"""The hub: what it adds to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command, Extension

EXTENSION: Final = Extension(
    name="hub",
    commands=(
        Command(
            "hub",
            "extensions.hub.hub_command:hub",
            "Give each person a sandbox, all at one address.",
        ),
    ),
)
