"""The seam between applications and brokers: publish, read, commit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class Receipt:
    """The broker's word that it has the message, and where."""

    shard: str
    sequence_number: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message as it came.

    ``arrived`` is when the broker took it, in seconds since the epoch.
    ``redelivered`` is whether the broker, or this channel, knows that it was
    delivered before; False says nothing.
    """

    data: bytes
    key: str
    shard: str
    sequence_number: str
    arrived: float
    redelivered: bool = False


class PublishRefusedError(Exception):
    """The broker's no: the message is not in the channel. ``code`` is the broker's word for why."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class PublishUnknownError(Exception):
    """No answer, or one that leaves it open: the message may be in the channel or not."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class ChannelUnavailableError(Exception):
    """The channel cannot be read now: it does not exist, or its broker does not answer."""


Outcome: TypeAlias = Receipt | PublishRefusedError | PublishUnknownError


class Channel(Protocol):
    """A way for messages to go. One instance serves one thread.

    Delivery is at least once: what was read and not committed is read again
    after the channel is opened anew. Order holds within a shard.
    """

    @property
    def name(self) -> str: ...

    def publish(self, data: bytes, key: str) -> Receipt:
        """Put one message; returns after the broker's answer.

        Raises PublishRefusedError or PublishUnknownError.
        """

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        """Put (data, key) pairs in order; what became of each, in the same order. Raises nothing."""

    def read(self, *, limit: int = 100, wait: float = 0.0) -> list[Delivery]:
        """Up to ``limit`` messages; waits up to ``wait`` seconds for the first.

        Raises ChannelUnavailableError.
        """

    def commit(self, delivery: Delivery) -> None:
        """Everything up to ``delivery`` in its shard is done and need not come again."""

    def close(self) -> None: ...
