"""``sandbox tui``."""

from __future__ import annotations

import click

from sandbox.cli.connection import control_option, reach


@click.command()
@control_option
def tui(control: str | None) -> int:
    """Watch the sandbox in the terminal: streams and shards, messages, faults, error queues, buckets.

    Press ? for every key, q to leave.
    """
    url, token = reach(control)
    from tui.__main__ import run  # noqa: PLC0415 -- textual is slow to import

    return run(url, token)
