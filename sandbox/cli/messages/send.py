from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

import click

from rdss_sandbox.text.figures import counted
from sandbox.cli.messages.message_files import read_documents
from sandbox.cli.options.channel_kinds import kind_option
from sandbox.cli.options.contract import load_contract, name_message
from sandbox.cli.options.control_connection import channel_option, control_option, find_channel, follow_clock
from sandbox.cli.options.extras import needs
from sandbox.cli.output.exit_codes import CommandFailedError, Exit
from sandbox.cli.output.printing import json_option, print_line

if TYPE_CHECKING:
    from emulator.clock import Clock
    from sandbox.gateway import Gateway
    from schemas.json_texts import Document


@click.command()
@click.argument("files", nargs=-1, required=True, metavar="FILE|-...")
@channel_option("The channel to send to.")
@kind_option
@click.option("--as-is", is_flag=True, help="Send every text unchanged in one piece, message or not.")
@click.option("--strict", is_flag=True, help="Send nothing that has expired, by the sandbox's clock.")
@control_option
@json_option
@needs("messages")
def send(
    *,
    files: tuple[str, ...],
    channel: str | None,
    kind: str,
    as_is: bool,
    strict: bool,
    control: str | None,
    as_json: bool,
) -> int:
    """Send the messages in each FILE, or on standard input with -.

    A file holds one message, one a line, or only a header or a body, which is completed with a sample of
    the other. Large messages go out as a sequence. Each is written down before it is sent, so that what
    cannot be sent now goes first the next time.

    A message is a JSON object with a header or a body. However wrong the rest of it is, it is sent, for
    receivers to reject. What is not JSON, or not such an object, is sent only with --as-is. What has
    expired is sent too, and named on standard error.

    Exit code 1: --strict refused an expired message. Exit code 2: something could not be read, or was not a
    message. The rest was sent.
    """
    from sandbox.gateway import SendFailedError, SendRefusedError

    code = Exit.PASS
    with follow_clock(control) as clock, _gateway(control, kind, channel, clock) as gateway:
        try:
            if left := gateway.flush():
                click.echo(f"sandbox: {counted(left, 'message')} of an earlier send went out first", err=True)
            for found in read_documents(files):
                try:
                    place, parts = _read_parts(found, clock, as_is=as_is)
                    _look_for_expiry(place, parts[0], clock, strict=strict)
                except _NotSentError as error:
                    click.echo(f"sandbox: {error}", err=True)
                    code = max(code, error.exit)
                else:
                    _send(gateway, parts, as_json)
        except SendFailedError as error:
            raise CommandFailedError(f"{error}; the next send begins with it", Exit.ENVIRONMENT) from error
        except SendRefusedError as error:
            raise CommandFailedError(str(error), Exit.FAIL) from error
    return code


class _NotSentError(Exception):
    """A document is not sent; the text says which and why."""

    def __init__(self, why: str, exit_: Exit = Exit.USAGE) -> None:
        super().__init__(why)
        self.exit = exit_


def _read_parts(found: Document | str, clock: Clock, *, as_is: bool) -> tuple[str, list[bytes]]:
    """Complete and split a document, and return its place and parts. Raises ``_NotSentError``."""
    from emulator.rng import new_seed, new_uuid

    if isinstance(found, str):
        raise _NotSentError(found)
    contract = load_contract()
    if as_is or contract.documents is None:
        whole = found.raw
    elif why := contract.documents.explain(found.raw):
        raise _NotSentError(f"{found.place} {why}; it was not sent, and --as-is sends it all the same")
    else:
        whole = contract.documents.complete(found.raw, seed=new_seed(), now=clock.time())
    if as_is or contract.sequences is None:
        return found.place, [whole]
    try:
        return found.place, contract.sequences.split(whole, new_id=new_uuid)
    except ValueError as error:
        too_large = f"{found.place} was not sent, it is too large for one message: {error}"
        raise _NotSentError(too_large) from error


def _look_for_expiry(place: str, message: bytes, clock: Clock, *, strict: bool) -> None:
    """Tell of a message that has expired: who receives it refuses it for that.

    Raises ``_NotSentError`` for it where this is ``strict``.
    """
    from schemas.contract import judge_sent

    contract = load_contract()
    judge = judge_sent(contract)
    verdict = judge(message, now=clock.time())
    if verdict.valid or verdict == judge(message):
        return
    expired = f"{place} expired at {contract.peek(message).expires} ({contract.expired})"
    if strict:
        raise _NotSentError(f"{expired}; --strict did not send it", Exit.FAIL)
    click.echo(f"sandbox: {expired}; it is sent all the same", err=True)


def _send(gateway: Gateway, parts: list[bytes], as_json: bool) -> None:
    """Send the parts of a message and print each."""
    peek = load_contract().peek
    gateway.send_serialised(*parts)
    for part in parts:
        glance = peek(part)
        print_line(
            {**name_message(glance), "bytes": len(part)},
            f"{glance.message_id or '-':<36}  {glance.message_type or '-':<17}  {len(part):>9,} bytes",
            as_json=as_json,
        )


@contextmanager
def _gateway(control: str | None, kind: str, channel: str | None, clock: Clock) -> Iterator[Gateway]:
    """Open a gateway to a channel of the running sandbox. Raises CommandFailedError for an unknown one."""
    from sandbox.gateway import Gateway
    from sandbox.repository import Repository

    found = find_channel(control, kind, channel)
    with (
        closing(Repository(found.repository("sender"), clock)) as repository,
        found.connect(clock) as queues,
        closing(queues.channel(found.name)) as opened,
    ):
        yield Gateway(opened, repository, clock)
