"""``sandbox mcp``: a server of the Model Context Protocol on standard input and output."""

from __future__ import annotations

import os
from typing import Final

import click

from sandbox.cli.options.control_connection import control_option
from sandbox.cli.options.extras import needs

_INTERRUPTED: Final = 130


@click.command()
@click.option(
    "--allow-changes",
    is_flag=True,
    help="Let the agent send, break, reset, and run clients that it names to certify them.",
)
@control_option
@needs("mcp")
def mcp(*, allow_changes: bool, control: str | None) -> None:
    """Let an agent read the running sandbox, by the Model Context Protocol on standard input and output.

    An agent's program starts this command by itself. The sandbox may be started later, and again: each call
    asks the one that runs then. docs/agents.md has the lines for an agent's program, and the tools.
    """
    import asyncio

    from extensions.mcp.mcp_server import serve_agent
    from sandbox.cli.output.exit_codes import sigterm_as_interrupt

    try:
        with sigterm_as_interrupt():
            asyncio.run(serve_agent(control, allow_changes=allow_changes))
    except KeyboardInterrupt:
        # A thread waits for a line on standard input, which may never come, and would be waited for.
        os._exit(_INTERRUPTED)
