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

    What extensions keep is emptied too. What an application or adaptor of the command
    line keeps is its own: it starts over with the new streams the next time it is started.
    """
    click.echo(f"sandbox: empty again, with {len(found.streams)} new streams", err=True)
