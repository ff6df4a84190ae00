"""``sandbox down``."""

from __future__ import annotations

import click

from sandbox.cli.failures import CommandFailed, Exit


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def down(as_json: bool) -> None:
    """Stop the sandbox that was started here, and wait until it is gone. Its data stays."""
    from sandbox.profiles import in_process, running  # noqa: PLC0415 -- kept out of sandbox --help

    found = running.read()
    if found is None:
        raise CommandFailed("no sandbox was started here", Exit.ENVIRONMENT)
    was_alive = found.alive
    if was_alive:
        try:
            in_process.stop(found)
        except in_process.CannotStop as error:
            raise CommandFailed(str(error), Exit.ENVIRONMENT) from error
    running.remove(found.pid)
    if as_json:
        click.echo(f'{{"pid":{found.pid},"stopped":{str(was_alive).lower()}}}')
    else:
        said = "stopped" if was_alive else "was gone already"
        click.echo(f"sandbox: process {found.pid} {said}; its data is in {found.data_dir}", err=True)
