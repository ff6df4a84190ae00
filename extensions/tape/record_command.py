"""``sandbox record``: what passes a sandbox, or what a stream or a bucket holds, goes to a tape."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from extensions.tape.bodies import BODIES, NONE, REDACTED
from rdss_sandbox.questions.deadline import Deadline
from sandbox.cli.options.control_connection import connect, control_option, reach
from sandbox.cli.options.stopping import Stopping
from sandbox.cli.options.waiting import moment, timeout_option
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_json

if TYPE_CHECKING:
    from emulator.clock import Clock
    from extensions.tape.tape_writer import Redact, TapeWriter
    from rdss_sandbox.shapes.tape import TapeEntry

_TRIM_HORIZON = "TRIM_HORIZON"


class _Origin(NamedTuple):
    """What is recorded: in words, and what writes it to a tape until it is stopped."""

    words: str
    write: Callable[[TapeWriter, Stopping], None]


def _read_start(context: click.Context, parameter: click.Parameter, value: str | None) -> float | None:
    return None if value == _TRIM_HORIZON else moment(context, parameter, value)


@click.command()
@click.option(
    "--to", "path", type=click.Path(path_type=Path), required=True, metavar="FILE.tape",
    help="The tape, a new file.",
)  # fmt: skip
@click.option("--stream", metavar="NAME", help="Read a stream as a consumer does, up to its end.")
@click.option(
    "--from", "start", metavar="TIME", callback=_read_start, default=_TRIM_HORIZON, show_default=True,
    help="Where to begin in the stream: TRIM_HORIZON, or a time such as 2026-01-31T12:00:00Z.",
)  # fmt: skip
@click.option("--follow", is_flag=True, help="Go on as more comes to the stream.")
@click.option("--bucket", metavar="NAME", help="Read an archive's bucket, or that of the audit log.")
@click.option(
    "--endpoint", metavar="URL",
    help="Where stream or bucket are; aws is AWS itself.  [default: the running sandbox]",
)  # fmt: skip
@click.option("--region", default="us-east-1", show_default=True, help="The region of the stream or bucket.")
@click.option(
    "--bodies", type=click.Choice(BODIES), default=REDACTED, show_default=True,
    help="What is kept of messages: all but what is personal, all, or sizes and headers alone.",
)  # fmt: skip
@click.option(
    "--redact", "pointers", multiple=True, metavar="POINTER",
    help="A value of messages that is personal too, by its JSON Pointer: /customer/name, /lines/*/note.",
)  # fmt: skip
@click.option(
    "--redact-matching", "patterns", multiple=True, metavar="REGEX",
    help="Texts that are personal too, wherever they are.",
)  # fmt: skip
@timeout_option("Stop after this long: 30s, 5m.")
@control_option
@json_option
def record(
    *,
    path: Path,
    stream: str | None,
    start: float | None,
    follow: bool,
    bucket: str | None,
    endpoint: str | None,
    region: str,
    bodies: str,
    pointers: tuple[str, ...],
    patterns: tuple[str, ...],
    timeout: float | None,
    control: str | None,
    as_json: bool,
) -> int:
    """Record what passes a running sandbox to a tape, until Ctrl-C.

    Messages, reads, refusals and reshards are on it, with what the upstream took for each. With --stream or
    --bucket the tape has what that stream or bucket holds instead. Personal values are replaced before
    anything is written. The tape on disk is a second behind at most, whatever happens.

    Exit code 3: the sandbox ended, or the disk is full; the tape has what came until then.
    """
    from emulator.clock import Clock
    from extensions.tape.tape_format import FORMAT
    from extensions.tape.tape_writer import TapeExistsError, TapeWriter
    from rdss_sandbox.shapes.tape import TapeMark
    from rdss_sandbox.version import VERSION
    from schemas.bound import CONTRACT

    if stream and bucket:
        raise click.UsageError("--stream and --bucket are two recordings: give one of them")
    if not stream and (follow or start is not None):
        raise click.UsageError("--from and --follow are of a stream: give --stream too")
    if not stream and not bucket and endpoint:
        raise click.UsageError("--endpoint is of a stream or a bucket: give --stream or --bucket too")
    clock = Clock()
    redact = _make_redact(bodies, pointers, patterns)
    if bucket:
        origin = _of_bucket(bucket, endpoint, region, control)
    elif stream:
        origin = _of_stream(stream, start, endpoint, region, control, follow=follow, clock=clock)
    else:
        origin = _of_sandbox(control, clock)
    mark = TapeMark(FORMAT, VERSION, clock.time(), origin.words, CONTRACT.name, bodies)
    stopping = Stopping(Deadline(timeout))
    try:
        tape = TapeWriter(path, mark, redact)
    except TapeExistsError as error:
        raise CommandFailedError(str(error), Exit.USAGE) from error
    why = _write(tape, origin, stopping)
    told = {"tape": str(path), "entries": tape.entries, "bytes": tape.size, "ended": why}
    if as_json:
        print_json(told)
    else:
        click.echo(f"sandbox: {path}: {tape.entries:,} entries, {tape.size:,} bytes of messages", err=True)
    if why is not None:
        raise CommandFailedError(f"the recording ended: {why}", Exit.ENVIRONMENT)
    if stopping.signals and stopping.signals[0] == signal.SIGTERM:
        signal.raise_signal(signal.SIGTERM)
    return Exit.PASS


def _write(tape: TapeWriter, origin: _Origin, stopping: Stopping) -> str | None:
    """Write until the origin ends or is stopped. Returns why it ended before."""
    from emulator.archive.audit_objects import BucketUnreadableError
    from extensions.tape.recording import SandboxGoneError
    from extensions.tape.stream_records import StreamUnreadableError

    try:
        with stopping.noting_signals(), tape:
            origin.write(tape, stopping)
    except (SandboxGoneError, StreamUnreadableError, BucketUnreadableError) as error:
        return str(error)
    except OSError as error:
        return f"{tape.path} cannot be written: {error.strerror}"
    return None


def _make_redact(bodies: str, pointers: tuple[str, ...], patterns: tuple[str, ...]) -> Redact | None:
    from extensions.tape.bodies import WHOLE, leave_bodies_out
    from schemas.bound import CONTRACT

    if bodies == WHOLE:
        if pointers or patterns:
            raise click.UsageError("--bodies whole redacts nothing: leave it out, or --redact")
        return None
    from extensions.tape.redaction import BadRedactionError, Redactor

    try:
        redact = Redactor(CONTRACT, pointers, patterns).redact
    except BadRedactionError as error:
        if bodies == NONE and not pointers and not patterns:
            return leave_bodies_out(CONTRACT)
        raise click.UsageError(f"{error}; or record --bodies whole, or none") from error
    return leave_bodies_out(CONTRACT, redact) if bodies == NONE else redact


def _of_sandbox(control: str | None, clock: Clock) -> _Origin:
    from extensions.tape.recording import record_sandbox

    client = click.get_current_context().with_resource(connect(control))
    status = client.status()

    def write(tape: TapeWriter, stopping: Stopping) -> None:
        with stopping.ending_pauses(clock):
            record_sandbox(client, tape, lambda: stopping.wanted, clock)

    return _Origin(f"what passed the sandbox at {client.url}, of the profile {status.profile}", write)


def _of_stream(
    name: str,
    start: float | None,
    endpoint: str | None,
    region: str,
    control: str | None,
    *,
    follow: bool,
    clock: Clock,
) -> _Origin:
    from extensions.tape.stream_records import read_stream

    url, token = _find_endpoint(endpoint, control)

    def write(tape: TapeWriter, stopping: Stopping) -> None:
        with stopping.ending_pauses(clock):
            found = read_stream(
                name, url, region, token, start=start, follow=follow,
                clock=clock, stopped=lambda: stopping.wanted,
            )  # fmt: skip
            _add_all(tape, found, stopping)

    return _Origin(f"the stream {name} at {endpoint or url or 'AWS'}", write)


def _of_bucket(name: str, endpoint: str | None, region: str, control: str | None) -> _Origin:
    from extensions.tape.bucket_records import read_bucket

    url, token = _find_endpoint(endpoint, control)

    def write(tape: TapeWriter, stopping: Stopping) -> None:
        _add_all(tape, read_bucket(name, url, region, token), stopping)

    return _Origin(f"the bucket {name} at {endpoint or url or 'AWS'}", write)


def _add_all(tape: TapeWriter, entries: Iterable[TapeEntry | None], stopping: Stopping) -> None:
    """Add entries as they come, and write them down where there are none for the moment (None)."""
    for each in entries:
        if each is None:
            tape.flush()
        else:
            tape.add(each)
        if stopping.wanted:
            return


def _find_endpoint(endpoint: str | None, control: str | None) -> tuple[str | None, str | None]:
    """The URL for AWS clients, None for AWS itself, and the token of a sandbox."""
    if endpoint is not None:
        return (None if endpoint == "aws" else endpoint), None
    _, token = reach(control)
    with connect(control) as client:
        return client.status().aws, token
