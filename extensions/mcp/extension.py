"""The server for agents: what it adds to the sandbox."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.extension import Command, Extension

EXTENSION: Final = Extension(
    name="mcp",
    commands=(Command("mcp", "extensions.mcp.mcp_command:mcp", "Let an agent read the running sandbox."),),
)
