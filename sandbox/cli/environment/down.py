from __future__ import annotations

import click

from sandbox.cli.output.exit_codes import CommandFailedError, Exit


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def down(as_json: bool) -> None:
    """Stop the sandbox that was started here, and wait until it is gone. Its data stays."""
    from sandbox.profiles import running

    found = running.read()
    if found is None:
        raise CommandFailedError("no sandbox was started here", Exit.ENVIRONMENT)
    was_alive = found.alive
    if was_alive or found.stack is not None:
        if found.stack is None:
            from sandbox.profiles.in_process import stop
        else:
            from sandbox.profiles.compose_profile import stop
        stop(found)
    running.remove(found.pid)
    if as_json:
        pid = "null" if found.pid is None else found.pid
        click.echo(f'{{"pid":{pid},"stopped":{str(was_alive).lower()}}}')
    else:
        outcome = "stopped" if was_alive else "was gone already"
        click.echo(f"sandbox: {found.who} {outcome}; its data is in {found.data_dir}", err=True)
