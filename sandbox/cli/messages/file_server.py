"""``sandbox files``."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from threading import Event

import click

from sandbox.cli.output.printing import json_option, print_json


@click.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path), metavar="DIR")
@click.option("--port", default=0, show_default="any free", metavar="N", help="The port to listen on.")
@click.option(
    "--cut-after", type=click.IntRange(min=1), metavar="BYTES", help="End every answer after this many bytes."
)
@click.option(
    "--rate", type=click.FloatRange(min=1), metavar="BYTES", help="Send at most this many bytes a second."
)
@click.option("--damaged", is_flag=True, help="Flip a bit of each file, so that no checksum is right.")
@click.option(
    "--unavailable",
    type=click.IntRange(min=0),
    default=0,
    show_default=False,
    metavar="N",
    help="Answer the first N requests with 503.",
)
@click.option("--expired", is_flag=True, help="Use a certificate that expired yesterday.")
@click.option("--plain", is_flag=True, help="Serve plain HTTP, without a certificate.")
@json_option
def files(
    *,
    folder: Path,
    port: int,
    cut_after: int | None,
    rate: float | None,
    damaged: bool,
    unavailable: int,
    expired: bool,
    plain: bool,
    as_json: bool,
) -> None:
    """Serve the files of DIR over HTTPS with ranges, and with faults, for consumers to download.

    Prints the address, and on standard error the certificate of the authority made for it, which a consumer
    must be told to trust; with --plain there is none.
    """
    from emulator.clock import Clock
    from sandbox.file_server.misbehaving_server import FileServer, Trouble

    certificate, trusted = (None, None) if plain else _make_certificate(timedelta(days=-1 if expired else 30))
    trouble = Trouble(cut_after, rate, damaged, unavailable)
    with FileServer(folder, certificate, Clock(), port=port, trouble=trouble).serving() as server:
        if as_json:
            print_json({"url": server.url, "trust": trusted and str(trusted)})
        else:
            click.echo(server.url)
            if trusted is not None:
                click.echo(f"trust: {trusted}", err=True)
        Event().wait()


def _make_certificate(life: timedelta) -> tuple[Path, Path]:
    """Write a certificate for this host and that of the authority that issued it, and return their files."""
    from emulator.clock import Clock
    from emulator.machine.certificate_authority import new_authority
    from emulator.machine.private_files import make_directory
    from emulator.settings.settings import STATE_DIRECTORY

    authority = new_authority(Clock())
    state = Path(STATE_DIRECTORY)
    make_directory(state)
    trusted = authority.write_certificate(state / "files-authority.pem")
    certificate = state / "files-host.pem"
    certificate.touch(mode=0o600)
    certificate.write_bytes(authority.issue(("127.0.0.1",), Clock(), life=life))
    return certificate, trusted
