from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import closing, contextmanager
from importlib.resources import files
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import click

from rdss_sandbox.text.visible_text import visible
from sandbox.cli.options.control_connection import control_option, find_stream, follow_clock
from sandbox.cli.options.extras import needs
from sandbox.cli.output.exit_codes import Exit
from sandbox.cli.output.printing import json_option, print_json, print_line

if TYPE_CHECKING:
    from emulator.clock import Clock
    from sandbox.adaptor.adaptor import Adaptor, Polled
    from sandbox.adaptor.mapping_file import MappingFile


@click.group()
def adaptor() -> None:
    """Publish the changes of an application that does not send messages itself."""


@adaptor.command()
@click.option(
    "--mapping",
    "mapping_file",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="The mapping from its items to objects: YAML or TOML.  [default: the example's]",
)
@click.option("--source", required=True, metavar="URL", help="Where the application's HTTP API is.")
@click.option("--channel", default="input", metavar="NAME", help="The stream to send to.")
@click.option("--interval", default=10.0, metavar="SECONDS", help="The pause between two polls.")
@click.option("--once", is_flag=True, help="Poll once and end.")
@control_option
@json_option
@needs("messages")
def run(
    *,
    mapping_file: Path | None,
    source: str,
    channel: str,
    interval: float,
    once: bool,
    control: str | None,
    as_json: bool,
) -> int:
    """Poll an application, publish its new, changed and hidden items, and print each message.

    It continues where it stopped the last time. An item that makes no valid message is named on standard
    error, with the error code, and kept until it does; with --json it is also a row with "rejected". --once
    then ends with exit code 1.
    """
    from emulator.channels.channel import ChannelUnavailableError
    from sandbox.adaptor.application_api import ApplicationUnavailableError
    from sandbox.adaptor.mapping_file import read_mapping
    from sandbox.gateway import SendFailedError, SendRefusedError

    mapping = read_mapping(mapping_file or Path(str(files("sandbox.adaptor.example") / "mapping.yaml")))
    with (
        _counting() as rejected,
        follow_clock(control) as clock,
        _open(mapping, source, channel, control, clock) as opened,
    ):
        while True:
            try:
                polled = opened.poll()
            except (
                ApplicationUnavailableError,
                SendFailedError,
                SendRefusedError,
                ChannelUnavailableError,
            ) as error:
                if once:
                    raise
                click.echo(f"sandbox: {error}; it is tried again in {interval:g} s", err=True)
            else:
                _show(polled, as_json)
                rejected.update(each.id for each in polled.unmapped)
                if once:
                    return Exit.FAIL if polled.unmapped else Exit.PASS
            clock.wait(interval)


@adaptor.command()
@click.option("--port", default=8090, metavar="N", help="The port to listen on; 0: any free one.")
@json_option
def example(port: int, as_json: bool) -> None:
    """Run the small repository application that the example mapping is for, with three deposits.

    Deposits are posted to /deposits, changed by PUT and withdrawn by DELETE on /deposits/ID.
    """
    from emulator.clock import Clock
    from sandbox.adaptor.example.small_repository import (
        SmallRepository,
        sample_deposits,
    )

    clock = Clock()
    with SmallRepository(clock, port=port).serving() as application:
        for deposit in sample_deposits():
            application.deposit(deposit)
        print_line({"url": application.url}, application.url, as_json=as_json)
        click.echo(f"next:  sandbox adaptor run --source {application.url}", err=True)
        Event().wait()


@contextmanager
def _open(
    mapping: MappingFile, address: str, channel_name: str, control: str | None, clock: Clock
) -> Iterator[Adaptor]:
    """Open the adaptor with its local data repository, one for each application."""
    from emulator.channels.kinesis import KinesisChannel
    from sandbox.adaptor.adaptor import Adaptor
    from sandbox.adaptor.adaptor_state import AdaptorState
    from sandbox.adaptor.application_api import Source
    from sandbox.gateway import Gateway, Machine
    from sandbox.gateway.outbox import Outbox
    from sandbox.repository import Repository

    found = find_stream(control, channel_name)
    slug = "".join(letter if letter.isalnum() else "-" for letter in mapping.application.lower())[:60]
    with (
        closing(Repository(found.repository(f"adaptor-{slug}"), clock)) as repository,
        closing(KinesisChannel(found.endpoint.kinesis(), channel_name, clock=clock)) as channel,
        closing(Source(address, mapping.place, dict(os.environ))) as source,
    ):
        outbox = Outbox(
            Gateway(channel, repository, clock),
            clock,
            generator=mapping.application,
            machine=Machine("rdss-sandbox-channel-adaptor", "localhost"),
        )
        yield Adaptor(mapping, source, AdaptorState(repository), outbox)


@contextmanager
def _counting() -> Iterator[set[str]]:
    """Print how many items make no message when the context ends, by the ids that it added to the set."""
    items: set[str] = set()
    try:
        yield items
    finally:
        if items:
            count = "1 item makes" if len(items) == 1 else f"{len(items)} items make"
            click.echo(f"sandbox: {count} no message", err=True)


def _show(polled: Polled, as_json: bool) -> None:
    for item in polled.told:
        print_line(item, f"{item.message_type:<17}  {item.object_uuid}  {item.id}", as_json=as_json)
    for unmapped in polled.unmapped:
        if as_json:
            code, _, why = unmapped.why.partition(": ")
            print_json({"rejected": {"item": unmapped.id, "code": code, "why": why}})
        click.echo(visible(f"sandbox: item {unmapped.id} makes no message: {unmapped.why}"), err=True)
