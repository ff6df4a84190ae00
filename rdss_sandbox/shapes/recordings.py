"""What passes the ports of a sandbox while somebody records it."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

from rdss_sandbox.shapes.tape import TapeEntry


class Recording(msgspec.Struct, frozen=True):
    """A recording under way. ``waiting`` are the bytes that wait to be taken."""

    id: int
    waiting: int = 0


class RecordingList(msgspec.Struct, frozen=True):
    """The recordings under way."""

    recordings: tuple[Recording, ...]


class KinesisCall(msgspec.Struct, frozen=True, omit_defaults=True, tag="call"):
    """A call of Kinesis as it passed, in the bytes of its protocol, which ``content_type`` names.

    ``at`` is when it was answered, in seconds since the epoch by the sandbox's clock; ``latency`` is in real
    seconds, ``client`` the name that the diagnosis gives it. Of an answer to GetRecords only the next
    iterator is left: ``records`` counts what it had, ``size`` is its length, and ``stream`` names the
    iterator's stream as far as it is known.
    """

    at: float
    latency: float
    client: str
    operation: str
    content_type: str
    body: bytes
    status: int
    answer: bytes = b""
    stream: str = ""
    records: int = 0
    size: int = 0


Passed: TypeAlias = KinesisCall | TapeEntry
"""What passed: a call of Kinesis, which who records it reads, or what the AMQP port did."""
