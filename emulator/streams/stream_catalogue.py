"""The streams by their labels: a stream of another account or region has that in its label."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator, Mapping
from typing import NamedTuple

from emulator.kinesis import KinesisError, Scope, ShardView, StreamView
from emulator.streams.amqp_log import is_amqp, stream_of_channel
from emulator.streams.merged_reading import IndexedRecord, ShardKey
from emulator.streams.stream_service import StreamService
from rdss_sandbox.shapes.streams import AMQP_PREFIX


class ListedStream(NamedTuple):
    """A stream in a list. ``label`` is its name, with ``@region`` or ``@account/region`` outside of home."""

    label: str
    scope: Scope
    view: StreamView


class Catalogue:
    """Every stream. ``home`` is the account and region of the sandbox's own streams.

    ``copies`` names streams of home that only repeat other streams; they are listed but not indexed.
    The streams of ``amqp`` are indexed, under the names of their exchanges and queues, but not listed.
    """

    def __init__(
        self, streams: StreamService, home: Scope, amqp: StreamService, copies: Container[str] = ()
    ) -> None:
        self._streams = streams
        self._amqp = amqp
        self.copies = copies
        self.home = home

    def list_streams(self) -> Iterator[ListedStream]:
        """Yield every stream: first those of home, then each account and region by name."""
        for scope in sorted(
            {self.home, *self._streams.scopes()}, key=lambda scope: (scope != self.home, scope)
        ):
            for view in self._streams.streams(scope):
                yield ListedStream(self._label(view.name, scope), scope, view)

    def find(self, label: str) -> ListedStream | None:
        """The stream of this label, or None."""
        return next((listed for listed in self.list_streams() if listed.label == label), None)

    def parse_label(self, label: str) -> tuple[str, Scope]:
        """The name and the scope in a label, whether or not the stream exists."""
        name, at, place = label.partition("@")
        if not at:
            return name, self.home
        account, slash, region = place.rpartition("/")
        return name, Scope(account if slash else self.home.account, region)

    def shards(self) -> Iterator[ShardKey]:
        return (key for key, *_ in self._list_indexed())

    def count_waiting(self, read_up_to: Mapping[ShardKey, str | None]) -> int:
        """Count the records after these sequence numbers in the shards to index, as far as known."""
        return sum(
            streams.unread(stream, shard, read_up_to.get(key))
            for key, streams, stream, shard in self._list_indexed()
        )

    def shards_of(self, label: str) -> Iterator[ShardKey]:
        """The shards of one stream, also of one in ``copies``; none when there is no such stream."""
        listed = self.find(label)
        if listed is not None:
            yield from (ShardKey(label, shard.id, listed.view.generation) for shard in listed.view.shards)

    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[IndexedRecord]:
        """Up to ``limit`` records of a shard after a sequence number, or none when the shard is gone."""
        streams, name, scope = self._locate(shard)
        try:
            return [*streams.read(name, shard.shard, after, limit, scope)]
        except KinesisError:
            return []

    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None:
        """The data of one record, or None when it is gone."""
        streams, name, scope = self._locate(shard)
        try:
            return streams.at(name, shard.shard, sequence_number, scope)
        except KinesisError:
            return None

    def at_each(self, places: Iterable[tuple[ShardKey, str]]) -> Iterator[bytes | None]:
        return (self.at(shard, number) for shard, number in places)

    def _list_indexed(self) -> Iterator[tuple[ShardKey, StreamService, str, ShardView]]:
        """Yield the shards to index, with the service that has each and its stream's name there."""
        for label, _, view in self.list_streams():
            if label not in self.copies:
                for shard in view.shards:
                    yield ShardKey(label, shard.id, view.generation), self._streams, view.name, shard
        for view in self._amqp.streams(self.home):
            name = view.name.removeprefix(AMQP_PREFIX)
            for shard in view.shards:
                yield ShardKey(name, shard.id, view.generation), self._amqp, view.name, shard

    def _locate(self, shard: ShardKey) -> tuple[StreamService, str, Scope]:
        if is_amqp(shard.shard):
            return self._amqp, stream_of_channel(shard.stream), self.home
        return self._streams, *self.parse_label(shard.stream)

    def _label(self, name: str, scope: Scope) -> str:
        if scope == self.home:
            return name
        same_account = scope.account == self.home.account
        return f"{name}@{scope.region}" if same_account else f"{name}@{scope.account}/{scope.region}"
