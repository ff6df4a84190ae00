"""The protocol between applications and brokers: publish, read, commit."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias


@dataclass(frozen=True, slots=True)
class Receipt:
    """The broker's confirmation that it has the message, and where."""

    shard: str
    sequence_number: str


@dataclass(frozen=True, slots=True)
class Delivery:
    """One message as it was delivered.

    ``arrived`` is when the broker took it, in seconds since the epoch.
    ``redelivered`` is True when the broker, or this channel, knows of an earlier
    delivery. False does not mean that there was none.
    """

    data: bytes
    key: str
    shard: str
    sequence_number: str
    arrived: float
    redelivered: bool = False


class PublishRefusedError(Exception):
    """The broker refused: the message is not in the channel. ``code`` is the broker's reason."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class PublishUnknownError(Exception):
    """The broker did not answer, or not clearly: the message may be in the channel or not."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code


class ChannelUnavailableError(Exception):
    """The channel cannot be read now, because it does not exist or its broker does not answer."""


Outcome: TypeAlias = Receipt | PublishRefusedError | PublishUnknownError


class Channel(Protocol):
    """A route for messages. One instance serves one thread.

    Delivery is at least once: a message that was read but not committed is read
    again after the channel is reopened. Order holds within a shard.
    """

    @property
    def name(self) -> str: ...

    def publish(self, data: bytes, key: str) -> Receipt:
        """Put one message, and return after the broker's answer.

        Raises PublishRefusedError or PublishUnknownError.
        """

    def publish_many(self, entries: Sequence[tuple[bytes, str]]) -> list[Outcome]:
        """Put (data, key) pairs in order, and return their outcomes in the same order. Raises nothing."""

    def read(self, *, limit: int = 100, wait: float = 0.0, in_hand: Collection[str] = ()) -> list[Delivery]:
        """Read up to ``limit`` messages, and wait up to ``wait`` seconds for the first.

        Shards that are ``in_hand`` are passed over, and so are their descendants. Raises
        ChannelUnavailableError.
        """

    def commit(self, delivery: Delivery) -> None:
        """Mark everything up to ``delivery`` in its shard as processed, so that it is not read again."""

    def close(self) -> None: ...
