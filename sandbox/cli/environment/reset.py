from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rdss_sandbox.api.sandbox_state import SandboxState
from sandbox.cli.options.asking import asks

if TYPE_CHECKING:
    from rdss_sandbox.shapes.status import Status


@click.command()
@asks(SandboxState.reset)
def reset(found: Status) -> None:
    """Remove every message, object and fault, set the clock to real time, and create the streams again.

    Queues, topics and messages being processed are removed too. Applications and adaptors keep files of their
    own, and begin again with the new streams.
    """
    click.echo(f"sandbox: empty again, with {len(found.streams)} new streams", err=True)
