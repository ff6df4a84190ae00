from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from typing import TYPE_CHECKING

import click

from rdss_sandbox.files.ndjson import is_line, write_line
from rdss_sandbox.questions.deadline import Deadline
from sandbox.cli.messages.rejections import Rejections
from sandbox.cli.options.channel_kinds import kind_option
from sandbox.cli.options.contract import as_published_option, load_contract
from sandbox.cli.options.control_connection import (
    FoundChannel,
    channel_option,
    control_option,
    find_channel,
    follow_clock,
)
from sandbox.cli.options.extras import needs
from sandbox.cli.options.stopping import Stopping
from sandbox.cli.options.waiting import timeout_option
from sandbox.cli.output.exit_codes import Exit
from sandbox.cli.output.printing import json_option

if TYPE_CHECKING:
    import sqlite3

    from emulator.channels.channel import Channel
    from sandbox.receiver import Arrival
    from sandbox.receiver.rejects import Rejected
    from schemas.contract import Code

Step = Callable[[int], int]
"""Receives at most this many messages and returns their number."""

_PRINTED_AS_THEY_ARE = ("audit", "error", "invalid")
_AT_ONCE = 500
_MOST_FAILURES = 5
_WAIT_SECONDS = 0.6
_COUNTED_SECONDS = 60.0
"""A script that waits for so many messages is not to wait for ever."""


class _ReaderGone(BaseException):
    """The reader of our output closed the pipe: the message is not processed and is received again."""


class _Stopped(BaseException):
    """A signal came since the message before, which is committed; this one is received again."""


@click.command()
@channel_option("The channel to read.")
@kind_option
@click.option("--follow", is_flag=True, help="Wait for more when everything has come.")
@click.option("--count", type=click.IntRange(min=1), metavar="N", help="Stop after N messages.")
@timeout_option("Wait for more, but no longer than this: 30s, 5m.  [default: 1m with --follow --count]")
@as_published_option
@control_option
@json_option
@needs("messages")
def receive(
    *,
    channel: str | None,
    kind: str,
    follow: bool,
    count: int | None,
    timeout: float | None,
    as_published: bool,
    control: str | None,
    as_json: bool,
) -> int:
    """Receive messages and print each once: with --json the whole message, one a line.

    Duplicates are dropped, sequences joined, bad messages moved to the error or invalid queue; the next
    receive goes on where this one ends. What is rejected is told on standard error with its code, queue and
    id; with --json it is also a row with "rejected". What is in audit, error and invalid is printed as it is.
    Ctrl-C and SIGTERM end it after the message that it is at.

    Exit code 1: fewer than N messages were there. Exit code 4: fewer than N came before the timeout.
    """
    printed = 0
    if timeout is None and follow and count is not None:
        timeout = _COUNTED_SECONDS
    stopping = Stopping(Deadline(timeout))
    waits = follow or timeout is not None

    def show(data: bytes) -> None:
        nonlocal printed
        if stopping.signals:
            raise _Stopped
        try:
            click.echo(_on_one_line(data) if as_json else _describe(data))
        except BrokenPipeError as error:
            raise _ReaderGone from error
        printed += 1

    found = find_channel(control, kind, channel)
    rejections = Rejections(found.queues, absent=found.absent, as_json=as_json)
    tell = _unless_stopped(stopping, rejections.tell)
    try:
        with (
            stopping.noting_signals(),
            rejections.counted(),
            _stepping(found, control, show, tell, stopping=stopping, as_published=as_published) as step,
            suppress(_Stopped),
        ):
            take = _persist(step) if waits else step
            while not stopping.signals and (count is None or printed < count):
                limit = _AT_ONCE if count is None else min(_AT_ONCE, count - printed)
                if (not take(limit) and not waits) or stopping.wanted:
                    break
    except _ReaderGone as gone:
        raise BrokenPipeError from gone
    if stopping.signals:
        signal.raise_signal(stopping.signals[0])
    if count is not None and printed < count:
        within = "" if timeout is None else f" within {timeout:g} s"
        click.echo(f"sandbox: {printed} of {count} messages came{within}", err=True)
        return Exit.FAIL if timeout is None else Exit.INCONCLUSIVE
    return Exit.PASS


def _persist(step: Callable[[int], object]) -> Callable[[int], object]:
    """As ``step``, but let five failures in a row pass: a refusal may outlast the tries of one read."""
    from emulator.channels.channel import ChannelUnavailableError

    failures = 0

    def take(limit: int) -> object:
        nonlocal failures
        try:
            came = step(limit)
        except ChannelUnavailableError:
            failures += 1
            if failures > _MOST_FAILURES:
                raise
            return None
        failures = 0
        return came

    return take


def _unless_stopped(stopping: Stopping, tell: Rejected) -> Rejected:
    """As ``tell``, but raise ``_Stopped`` in its place when a signal has come."""

    def tell_or_stop(data: bytes, code: Code, why: str) -> None:
        if stopping.signals:
            raise _Stopped
        tell(data, code, why)

    return tell_or_stop


@contextmanager
def _stepping(
    found: FoundChannel,
    control: str | None,
    show: Callable[[bytes], None],
    tell: Rejected,
    *,
    stopping: Stopping,
    as_published: bool,
) -> Iterator[Step]:
    """Open a receiver, or the channel alone, and yield the function that receives."""
    from sandbox.receiver import S3Originals
    from sandbox.receiver.assembled_receiver import assembled_receiver
    from sandbox.receiver.receiver import SHARED_MESSAGE_ID
    from sandbox.repository import Repository
    from schemas.bound import choose_contract

    def process(arrival: Arrival, _store: sqlite3.Connection) -> None:
        show(arrival.data)

    with (
        follow_clock(control) as clock,
        stopping.ending_pauses(clock),
        closing(Repository(found.repository("receiver"), clock)) as repository,
        found.connect(clock) as queues,
    ):
        if found.name in (*_PRINTED_AS_THEY_ARE, *found.queues.values()):
            with closing(queues.channel(found.name, repository.checkpoints(found.name))) as channel:
                yield lambda limit: _print(channel, limit, show)
        else:
            with assembled_receiver(
                queues.channel,
                S3Originals(found.endpoint.s3()),
                stream=found.name,
                repository=repository,
                application=process,
                clock=clock,
                queues=found.queues,
                contract=choose_contract(as_published=as_published),
                rejected=tell,
                absent=found.absent,
                stopped=lambda: stopping.wanted,
            ) as receiver:
                before = repository.counted(SHARED_MESSAGE_ID)
                yield lambda limit: receiver.step(limit=limit, wait=_WAIT_SECONDS)
                if shared := repository.counted(SHARED_MESSAGE_ID) - before:
                    click.echo(f"sandbox: {shared} parts share the messageId of another part", err=True)


def _print(channel: Channel, limit: int, show: Callable[[bytes], None]) -> int:
    deliveries = channel.read(limit=limit, wait=_WAIT_SECONDS)
    for delivery in deliveries:
        show(delivery.data)
        channel.commit(delivery)
    return len(deliveries)


def _describe(data: bytes) -> str:
    peek = load_contract().peek(data)
    code = f"  {peek.error_code}" if peek.error_code else ""
    return f"{peek.message_id or '-':<36}  {peek.message_type or '-':<17}  {len(data):>9,} bytes{code}"


def _on_one_line(data: bytes) -> bytes:
    """The message without the line breaks between its fields; what is no JSON as ``send`` reads it."""
    import msgspec

    if is_line(data):
        return data
    try:
        return msgspec.json.format(data, indent=-1)
    except msgspec.DecodeError:
        return write_line(data)
