from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rdss_sandbox.text.visible_text import visible
from sandbox.cli.messages.rejections import Rejections
from sandbox.cli.options.contract import as_published_option
from sandbox.cli.options.control_connection import FoundChannel, control_option, find_stream, follow_clock
from sandbox.cli.options.extras import needs
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from emulator.clock import Clock
    from sandbox.applications.activity_log import ActivityLogEntry
    from sandbox.applications.later_application import LaterApplication
    from sandbox.download.file_source import FileSource
    from sandbox.gateway.outbox import Outbox
    from sandbox.receiver import Application, Refused
    from sandbox.repository import Repository

_KINDS = {"repository": "institutional repository", "preservation": "preservation system"}


@dataclass(frozen=True, slots=True)
class _Opened:
    """An application with its repository, its outbox and its handler of refused messages."""

    repository: Repository
    outbox: Outbox
    application: Application
    refused: Refused


@click.group()
def application() -> None:
    """Run a simulated application, which processes messages and answers requests."""


@application.command()
@click.argument("kind", type=click.Choice(list(_KINDS)))
@click.option("--channel", default="input", metavar="NAME", help="The stream to read.")
@click.option(
    "--answers",
    default="output",
    metavar="NAME",
    help="The stream to answer on, where a request has no returnAddress.",
)
@click.option(
    "--folder",
    type=click.Path(file_okay=False, path_type=Path),
    default=".sandbox/preservation",
    metavar="DIR",
    help="preservation: where files are staged and packages kept.",
)
@click.option(
    "--trust",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="PEM",
    help="preservation: a private authority, or a host's certificate, to trust for files over HTTPS.",
)
@click.option(
    "--asynchronous",
    is_flag=True,
    help="Write down what arrives, work on it later, and try again what fails.",
)
@click.option("--once", is_flag=True, help="Stop when everything that is there has been processed.")
@as_published_option
@control_option
@json_option
@needs("messages")
def run(
    *,
    kind: str,
    channel: str,
    answers: str,
    folder: Path,
    trust: Path | None,
    asynchronous: bool,
    once: bool,
    as_published: bool,
    control: str | None,
    as_json: bool,
) -> None:
    """Run an institutional repository or a preservation system; print what it does with each message.

    A repository creates, updates and hides works, and answers reads. A preservation system packages
    metadata with the files it refers to, sends a PreservationEvent for each, and flags what is deleted.
    What cannot be processed goes to the error or invalid queue, and is told on standard error with its
    code, queue and id; with --json it is also a row with "rejected". Stopped, it continues from there the
    next time.

    With --asynchronous what fails is tried three times more, a minute apart, before it is rejected.
    """
    from sandbox.applications.application_run import run_application
    from sandbox.receiver.assembled_receiver import assembled_receiver
    from sandbox.receiver.over_kinesis import open_endpoint
    from schemas.bound import choose_contract

    found = find_stream(control, channel)
    find_stream(control, answers)

    def show(entry: ActivityLogEntry) -> None:
        if as_json:
            print_json(entry)
        else:
            about = entry.object_uuid or entry.message_id or "-"
            row = f"{entry.message_type or '-':<17}  {about:<36}  {entry.did}"
            click.echo(visible(row))

    rejections = Rejections(found.queues, absent=found.absent, as_json=as_json)
    with (
        rejections.counted(),
        follow_clock(control) as clock,
        _open(kind, found, answers, clock, folder=folder, trust=trust) as opened,
        _later(kind, found, opened, clock, opens=asynchronous) as later,
        assembled_receiver(
            *open_endpoint(found.endpoint, clock),
            stream=channel,
            repository=opened.repository,
            application=later or opened.application,
            clock=clock,
            queues=found.queues,
            contract=choose_contract(as_published=as_published),
            refused=opened.refused,
            rejected=rejections.tell,
            absent=found.absent,
        ) as receiver,
    ):
        if later is None:
            run_application(receiver, opened.outbox, opened.repository, show, lambda: once)
            return
        later.reject = receiver.reject
        run_application(
            receiver,
            opened.outbox,
            opened.repository,
            show,
            lambda: once and not later.unfinished,
            work=later.work,
        )


@contextmanager
def _later(
    kind: str, found: FoundChannel, opened: _Opened, clock: Clock, *, opens: bool
) -> Iterator[LaterApplication | None]:
    """Put the application behind asynchronous processing, if that is wanted. Raises UsageError."""
    if not opens:
        yield None
        return
    from emulator.events import Events
    from sandbox.applications.later_application import find_later

    open_later = find_later()
    if open_later is None:
        raise click.UsageError(
            "--asynchronous needs an extension that processes messages later; none is here"
        )
    store = found.repository(f"{kind}-processing")
    with closing(open_later(store, opened.repository, opened.application, clock, Events(clock))) as later:
        yield later


@contextmanager
def _open(
    kind: str, found: FoundChannel, answers: str, clock: Clock, *, folder: Path, trust: Path | None
) -> Iterator[_Opened]:
    """Open the application with its local data repository and its outbox."""
    from emulator.channels.kinesis import KinesisChannel
    from sandbox.applications import InstitutionalRepository, PreservationSystem
    from sandbox.download.download import Downloads
    from sandbox.download.http import HttpSource
    from sandbox.download.https import HttpsSource
    from sandbox.download.s3 import S3Source
    from sandbox.gateway import Gateway, Machine
    from sandbox.gateway.addresses import Addresses
    from sandbox.gateway.outbox import Outbox
    from sandbox.repository import Repository

    with ExitStack() as stack:
        repository = stack.enter_context(closing(Repository(found.repository(kind), clock)))

        def open_channel(name: str) -> KinesisChannel:
            return KinesisChannel(found.endpoint.kinesis(), name, clock=clock)

        channel = stack.enter_context(closing(open_channel(answers)))
        others = {answers, *found.queues.values()}
        streams = found.endpoint.streams
        addresses = stack.enter_context(
            closing(Addresses(streams, open_channel, repository, clock, others=others))
        )
        outbox = Outbox(
            Gateway(channel, repository, clock),
            clock,
            generator=f"Simulated {_KINDS[kind]}",
            machine=Machine(f"rdss-sandbox-{kind}", "localhost"),
            addresses=addresses,
        )
        if kind == "repository":
            institutional = InstitutionalRepository(repository, outbox, clock)
            yield _Opened(repository, outbox, institutional, institutional.refuse)
            return
        https = stack.enter_context(closing(HttpsSource(trust)))
        s3 = stack.enter_context(closing(found.endpoint.s3()))
        http = stack.enter_context(
            closing(HttpSource(lambda line: click.echo(f"sandbox: {line}", err=True), trust))
        )
        sources: dict[str, FileSource] = {"https": https, "s3": S3Source(s3), "http": http}
        downloads = Downloads(folder / "staging", sources, clock)
        packages = folder / "packages"
        preservation = PreservationSystem(repository, outbox, downloads, packages, clock)
        yield _Opened(repository, outbox, preservation, lambda _arrival, _code, _why: None)
