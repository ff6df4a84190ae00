from __future__ import annotations

import os
from pathlib import Path

import click

from sandbox.cli.options.control_connection import control_option, reach
from sandbox.cli.options.extras import require
from sandbox.cli.output.exit_codes import CommandFailedError, Exit


@click.command()
@click.option("--serve", is_flag=True, help="Serve the same screens to a browser, for a class.")
@click.option(
    "--port",
    type=click.IntRange(1, 65535),
    metavar="N",
    default=8000,
    help="For --serve: the port to listen on.",
)
@click.option(
    "--host",
    default="127.0.0.1",
    help="For --serve: the address to listen on. Anybody who reaches it can do what you can.",
)
@click.option(
    "--run",
    "folder",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Look through a recorded run, such as runs/SCENARIO/latest, or a certificate.",
)
@control_option
def tui(serve: bool, port: int, host: str, folder: Path | None, control: str | None) -> int:
    """Watch the sandbox in the terminal: streams and shards, messages, faults, error queues, buckets.

    Press ? for every key, q to leave. It needs a terminal; --serve needs none.
    """
    require("serve" if serve else "tui")
    if folder is not None:
        if serve:
            raise CommandFailedError("--run is for the terminal; --serve shows a running sandbox", Exit.USAGE)
        from tui.__main__ import run_recorded

        return run_recorded(folder)
    url, token = reach(control)
    if serve:
        return _serve(url, token, host, port)
    from tui.__main__ import run

    return run(url, token)


def _serve(url: str, token: str | None, host: str, port: int) -> int:
    from emulator.rng import new_uuid
    from rdss_sandbox.admission import LOOPBACK
    from tui.browser.serving import serve

    if token:
        os.environ["SANDBOX_TOKEN"] = token
    # As with the sandbox's own ports, a page beyond loopback always has a token.
    asked = token or (None if host in LOOPBACK else new_uuid())

    def announce(page: str) -> None:
        address = f"{page}/?token={asked}" if asked else page
        click.echo(f"{address} shows the sandbox at {url}; end it with ctrl+c", err=True)

    serve(url, port, host, ready=announce, token=asked)
    return Exit.PASS
