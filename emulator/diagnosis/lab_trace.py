"""The trace: where recorders write every exchange with a client. Only a lab has one, and pays for it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from rdss_sandbox.shapes.trace import TraceItem
from schemas.contract import Contract

OWN_CONNECTION: Final = "sandbox certify"
"""The ``connection_name`` of a lab's own connection of AMQP. While there is a trace it is not recorded."""


class WatchedClient(Protocol):
    """The client's end of a connection. Its commands can be held up for a while."""

    def pause_reading(self, reason: str) -> None: ...
    def resume_reading(self, reason: str) -> None: ...


class Trace(Protocol):
    """A lab, as the recorders know it. Times are seconds of its run.

    ``listen`` takes note of what the client has told. It is called before anything is noted that the client
    did over AMQP. Its messages are texts of the ``contract``, with their headers.
    """

    listen: Callable[[], None]

    @property
    def contract(self) -> Contract: ...
    @property
    def now(self) -> float: ...
    def time_of(self, moment: float) -> float:
        """The time of a reading of the stopwatch."""

    def life_at(self, at: float) -> int:
        """The number of the start of the client that was under way."""

    def identify(self, data: bytes, key: str = "") -> str | None:
        """The messageId of what a client put or got, also where it lies in an envelope.

        ``key`` is the partition key of a record.
        """

    def note_request(self) -> None:
        """Note that the client asks for something, of any service."""

    def note_item(self, item: TraceItem, data: bytes = b"") -> None:
        """Note an item before the client has its answer; ``data`` is the message of a publish."""

    def note_connection(self, client: WatchedClient, *, opened: bool) -> None:
        """Note that a connection of AMQP was opened, or is gone."""
