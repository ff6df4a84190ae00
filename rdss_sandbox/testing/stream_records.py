"""The records of a stream, as a test looks at them. To look is not to read: no reader moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from rdss_sandbox.shapes.messages import StoredMessage

if TYPE_CHECKING:
    from rdss_sandbox.client import Client
    from rdss_sandbox.shapes.streams import Shard, StreamDetail


class Record(StoredMessage, frozen=True, kw_only=True):
    """A record of a stream: its payload ``data``, where it is, and what its header says."""

    def json(self) -> Any:
        """The payload as JSON. Raises ``msgspec.DecodeError`` where it is none."""
        return msgspec.json.decode(self.data)


class SandboxStream:
    """A stream of a sandbox."""

    def __init__(self, client: Client, name: str) -> None:
        self._client = client
        self.name = name

    def records(self, matching: str = "") -> list[Record]:
        """The records that the stream holds, in the order of their arrival.

        ``matching`` is a filter of the message list, such as ``id:m-1`` or ``mark:duplicate``. Raises
        ``RefusedError`` where there is no such stream.
        """
        self._client.stream(self.name)
        selected = f'stream:"{self.name}" {matching}'.strip()
        lines = b"".join(self._client.stored(selected)).splitlines()
        decode = msgspec.json.Decoder(Record).decode
        # A name is a pattern to the filter, and may have the form of one.
        return [record for record in map(decode, lines) if record.stream == self.name]

    def describe(self) -> StreamDetail:
        """The stream with its shards."""
        return self._client.stream(self.name)

    def shards(self) -> tuple[Shard, ...]:
        """The open and closed shards, oldest first."""
        return self.describe().shards


class RejectQueue(SandboxStream):
    """The error or the invalid queue of a sandbox."""

    def messages(self, matching: str = "") -> list[Record]:
        """The messages in it, in the order of their arrival; the field ``code`` says why each is there."""
        return self.records(matching)
