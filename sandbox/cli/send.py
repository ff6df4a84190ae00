from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from sandbox.cli.connection import control_option, find_stream, follow_clock
from sandbox.cli.exit_codes import CommandFailedError, Exit
from sandbox.cli.extras import needs
from sandbox.cli.message_files import read_documents
from sandbox.cli.printing import json_option, print_line

if TYPE_CHECKING:
    from emulator.clock import Clock
    from sandbox.gateway import Gateway
    from schemas.documents import Document


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@click.option("--channel", default="input", metavar="NAME", help="The stream to send to.")
@click.option("--as-is", is_flag=True, help="Send every text unchanged in one piece, message or not.")
@control_option
@json_option
@needs("messages")
def send(files: tuple[str, ...], channel: str, as_is: bool, control: str | None, as_json: bool) -> int:
    """Send the messages in each FILE, or on standard input with -.

    A file holds one message, one a line, or a published header or body, which goes out with a counterpart.
    Large messages go out as a sequence. Each is written down before it is sent, so that what cannot be sent
    now goes first the next time.

    A message is a JSON object with messageHeader or messageBody. However wrong the rest of it is, it is sent,
    for receivers to reject. What is not JSON, or not such an object, is sent only with --as-is. Exit code 2:
    something could not be read, or was not a message; the rest was sent.
    """
    from sandbox.gateway import SendFailedError, SendRefusedError

    code = Exit.PASS
    with follow_clock(control) as clock, _gateway(control, channel, clock) as gateway:
        try:
            if left := gateway.flush():
                click.echo(f"sandbox: {left} messages of an earlier send were sent first", err=True)
            for found in read_documents(files):
                problem = found if isinstance(found, str) else _send(gateway, clock, found, as_is, as_json)
                if problem:
                    click.echo(f"sandbox: {problem}", err=True)
                    code = Exit.USAGE
        except SendFailedError as error:
            raise CommandFailedError(f"{error}; the next send begins with it", Exit.ENVIRONMENT) from error
        except SendRefusedError as error:
            raise CommandFailedError(str(error), Exit.FAIL) from error
    return code


def _send(gateway: Gateway, clock: Clock, document: Document, as_is: bool, as_json: bool) -> str | None:
    """Send one document and print its messages; returns the reason if it is not a message."""
    from emulator.rng import new_seed, new_uuid
    from schemas.completion import complete
    from schemas.documents import why_no_message
    from schemas.peek import peek
    from schemas.samples import Samples
    from schemas.sequence import SequenceError, split_raw

    if as_is:
        parts = [document.raw]
    elif why := why_no_message(document.raw):
        return f"{document.place} {why}; it was not sent, and --as-is sends it all the same"
    else:
        try:
            whole = complete(document.raw, Samples(new_seed(), now=clock.time()))
            parts = split_raw(whole, new_id=new_uuid)
        except SequenceError as error:
            return f"{document.place} was not sent, it is too large for one message: {error}"
    gateway.send_serialised(*parts)
    for part in parts:
        seen = peek(part)
        print_line(
            {"messageId": seen.message_id, "messageType": seen.message_type, "bytes": len(part)},
            f"{seen.message_id or '-':<36}  {seen.message_type or '-':<17}  {len(part):>9,} bytes",
            as_json=as_json,
        )
    return None


@contextmanager
def _gateway(control: str | None, channel: str, clock: Clock) -> Iterator[Gateway]:
    """Open a gateway to a stream of the running sandbox. Raises CommandFailedError for an unknown stream."""
    from emulator.channels.kinesis import KinesisChannel
    from sandbox.gateway import Gateway
    from sandbox.repository import Repository

    found = find_stream(control, channel)
    with (
        closing(Repository(found.repository("sender"), clock)) as repository,
        closing(KinesisChannel(found.endpoint.kinesis(), channel, clock=clock)) as opened,
    ):
        yield Gateway(opened, repository, clock)
