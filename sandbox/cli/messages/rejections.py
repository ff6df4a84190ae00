"""What a command tells of the messages that its receiver rejects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rdss_sandbox.text.visible_text import visible
from sandbox.cli.options.contract import load_contract, name_message
from sandbox.cli.output.printing import print_json

if TYPE_CHECKING:
    from schemas.contract import Code

_LONGEST_REASON = 300


class Rejections:
    """Prints a line on standard error for each rejected message, and counts them.

    With ``as_json`` standard output has a row of its own kind for each: an object with ``rejected`` alone.
    ``queues`` are the names of the error and the invalid queue; what goes to an ``absent`` one waits for it.
    """

    def __init__(self, queues: Mapping[str, str], *, absent: Collection[str] = (), as_json: bool) -> None:
        self._queues = queues
        self._absent = {queues[queue] for queue in absent}
        self._as_json = as_json
        self._count: Counter[str] = Counter()

    def tell(self, data: bytes, code: Code, why: str) -> None:
        """Tell of a message that goes to the queue of ``code``."""
        peek, queue = load_contract().peek(data), self._queues[code.queue]
        self._count[queue] += 1
        if self._as_json:
            row = {"code": str(code), "queue": queue, "why": why}
            print_json({"rejected": name_message(peek) | row})
        about = peek.message_id or "a message without an id"
        reason = visible(" ".join(why.split()))
        short = reason if len(reason) <= _LONGEST_REASON else f"{reason[:_LONGEST_REASON]}..."
        did = "keeps {} for" if queue in self._absent else "moved {} to"
        click.echo(f"sandbox: {code} {did.format(visible(about))} the queue {queue}: {short}", err=True)

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Print how many messages were rejected when the context ends, and which have not got into a queue.

        A ``SendStoppedError`` ends the context.
        """
        from sandbox.gateway import SendStoppedError

        try:
            yield
        except SendStoppedError as error:
            click.echo(f"sandbox: {error}; what was rejected waits here for the next start", err=True)
        finally:
            if self._count:
                each = ", ".join(f"{count} in {queue}" for queue, count in sorted(self._count.items()))
                click.echo(f"sandbox: {self._count.total()} rejected: {each}", err=True)
            for queue in sorted(self._absent & self._count.keys()):
                click.echo(
                    f"sandbox: there is no stream {queue!r}: what was rejected waits here for one",
                    err=True,
                )
