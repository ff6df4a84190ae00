"""Records what is published through the AMQP port, as streams that index, audit and archives can read.

A broker forgets consumed messages, and reading a queue takes messages out of it. So each message is
recorded before it goes to the broker, under the channel name that faults use as well: the name of its
exchange, or of its queue on the default exchange.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import lru_cache, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine, KinesisError, ReaderView, Scope, ShardView, StoredRecord, StreamView
from emulator.kinesis.batches import Entry, batches
from emulator.streams.wiretap import Wiretap
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.streams import AMQP_PREFIX

_MOST_RECORD_KIB: Final = 10_240
_LONGEST_STREAM: Final = 128
_LONGEST_KEY: Final = 256
LARGEST: Final = _MOST_RECORD_KIB * 1024 - 4 * _LONGEST_KEY
"""Bytes of the largest message that is recorded."""
_REMEMBERED_NAMES: Final = 1024
_SAFE: Final = re.compile(r"[^a-zA-Z0-9_-]")
_UNSAFE: Final = re.compile(r"\.([0-9a-f]+)\.")
_MADE_UP: Final = re.compile(r"(amq\.gen|amq\.rabbitmq\.reply-to)[-.].*", re.DOTALL)
_REAL_SHARD: Final = "shardId-000000000000"


def stream_of_channel(name: str) -> str:
    """The name of the stream that records what is published to an exchange or queue."""
    return f"{AMQP_PREFIX}{name}"


def is_amqp(shard: str) -> bool:
    """Whether a shard id belongs to a stream of the AMQP log."""
    return shard.startswith("amqp-")


class AmqpLog:
    """A ``StreamService`` with one stream of one shard for each exchange or queue with publishes.

    Records in ``directory`` survive ``kill -9``; with None they are in memory. They are kept for a day.
    Queues that the broker names itself share one stream. Thread-safe. Raises ``DamagedLogError``.
    ``wiretap`` has those who record what passes the port.
    """

    def __init__(
        self,
        directory: Path | None,
        clock: Clock,
        home: Scope,
        events: Events | None = None,
        wiretap: Wiretap | None = None,
    ) -> None:
        self.wiretap = wiretap
        # The engine is internal, so its events are not the sandbox's; only those of damage are forwarded.
        own = Events(clock, keep=1)
        self._stack = ExitStack()
        if events is not None:
            self._stack.enter_context(own.subscribed(partial(_forward_damage, events)))
        self._engine = Engine(directory, clock, own)
        self._home = home

    def record(self, channel: str, messages: Sequence[Entry]) -> None:
        """Record messages with their routing keys. Raises KinesisError."""
        name = _name_stream(channel)
        keyed = [(data, _partition_key(key)) for data, key in messages]
        for batch in batches(keyed) if keyed[1:] else (keyed,):
            self._put(name, batch)

    def clear(self) -> None:
        """Delete every record."""
        for name in self._engine.names(self._home):
            self._engine.call("DeleteStream", {"StreamName": name}, self._home)

    def held(self) -> AbstractContextManager[None]:
        """Let no other thread use the log while the context lasts."""
        return self._engine.held()

    def save(self) -> list[bytes]:
        """Return a copy of every record, for ``load``. Raises ``DamagedLogError`` and OSError."""
        return self._engine.save()

    def load(self, saved: Sequence[bytes | memoryview], leap: int) -> None:
        """Replace every record by those that were saved, as ``Engine.load`` does. Raises OSError."""
        self._engine.load(saved, leap)

    def close(self) -> None:
        self._engine.close()
        self._stack.close()

    # -- as a service of streams

    def call(self, operation: str, request: dict[str, Any], _scope: Scope) -> dict[str, Any]:
        """Do ListShards, the only operation here. A channel without publishes has no shards."""
        if operation != "ListShards":
            raise KinesisError("InvalidArgumentException", f"{operation}: this is no Kinesis stream")
        name = _encode_name(request["StreamName"].removeprefix(AMQP_PREFIX))
        return {"Shards": [_render_shard(shard) for shard in self._shards(name)]}

    def scopes(self) -> list[Scope]:
        return [self._home] if self._engine.names(self._home) else []

    def names(self, scope: Scope) -> list[str]:
        names = self._engine.names(self._home) if scope == self._home else []
        return [stream_of_channel(_decode_name(name)) for name in names]

    def streams(self, scope: Scope) -> list[StreamView]:
        views = self._engine.streams(self._home) if scope == self._home else []
        return [
            view._replace(
                name=stream_of_channel(_decode_name(view.name)),
                shards=[_give_unique_id(shard) for shard in view.shards],
            )
            for view in views
        ]

    def read(
        self, stream: str, shard_id: str, after: str | None, limit: int, _scope: Scope | None = None
    ) -> list[StoredRecord]:
        name = _encode_name(stream.removeprefix(AMQP_PREFIX))
        return self._engine.read(name, self._find_real_shard(name, shard_id), after, limit, self._home)

    def at(self, stream: str, shard_id: str, sequence_number: str, _scope: Scope) -> bytes | None:
        name = _encode_name(stream.removeprefix(AMQP_PREFIX))
        return self._engine.at(name, self._find_real_shard(name, shard_id), sequence_number, self._home)

    def readers(self, _stream: str, _scope: Scope) -> list[ReaderView] | None:
        """Return None: consumers read from the broker, so they are not known here."""
        return None

    def unread(self, stream: str, shard: ShardView, after: str | None) -> int:
        return self._engine.unread(stream, shard, after)

    def on_records(self, callback: Callable[[str, str], None]) -> Callable[[], None]:
        return self._engine.on_records(
            lambda name, _: callback(stream_of_channel(_decode_name(name)), _REAL_SHARD)
        )

    def _put(self, name: str, batch: Sequence[Entry]) -> None:
        try:
            self._engine.put(name, batch, self._home)
        except KinesisError as error:
            if error.code != "ResourceNotFoundException":
                raise
            made = {"StreamName": name, "ShardCount": 1, "MaxRecordSizeInKiB": _MOST_RECORD_KIB}
            self._engine.call("CreateStream", made, self._home)
            self._engine.put(name, batch, self._home)

    def _shards(self, name: str) -> list[ShardView]:
        views = (view for view in self._engine.streams(self._home) if view.name == name)
        return [_give_unique_id(shard) for view in views for shard in view.shards]

    def _find_real_shard(self, name: str, shard_id: str) -> str:
        if shard_id not in {shard.id for shard in self._shards(name)}:
            raise KinesisError("ResourceNotFoundException", f"{shard_id} is no more")
        return _REAL_SHARD


def _forward_damage(events: Events, event: Event) -> None:
    if event.kind.startswith("journal."):
        events.emit(event.kind, **event.fields)


def _give_unique_id(shard: ShardView) -> ShardView:
    """Give a shard an id by its creation time, so that checkpoints of a deleted stream do not apply to it."""
    return msgspec.structs.replace(shard, id=f"amqp-{round(shard.created * 1000)}")


def _render_shard(shard: ShardView) -> dict[str, Any]:
    return {
        "ShardId": shard.id,
        "HashKeyRange": {
            "StartingHashKey": shard.starting_hash_key,
            "EndingHashKey": shard.ending_hash_key,
        },
        "SequenceNumberRange": {"StartingSequenceNumber": shard.starting_sequence_number},
    }


@lru_cache(maxsize=_REMEMBERED_NAMES)
def _name_stream(channel: str) -> str:
    """The name of the stream that has what is published to an exchange or queue."""
    # A broker accepts names that are not UTF-8.
    readable = channel.encode(errors="surrogateescape").decode(errors="replace")
    return _encode_name(_MADE_UP.sub(r"\1", readable))


def _encode_name(name: str) -> str:
    """Encode the name of an exchange or queue, any text, as a stream name. A long one keeps its beginning."""
    written = _SAFE.sub(lambda found: f".{ord(found[0]):x}.", name) or "."
    if len(written) <= _LONGEST_STREAM:
        return written
    digest = blake2b(name.encode(errors="surrogatepass"), digest_size=8).hexdigest()
    begun = re.sub(r"\.[0-9a-f]*$", "", written[: _LONGEST_STREAM - len(digest) - 1])
    return f"{begun}-{digest}"


@lru_cache(maxsize=_REMEMBERED_NAMES)
def _decode_name(written: str) -> str:
    return "" if written == "." else _UNSAFE.sub(lambda found: chr(int(found[1], 16)), written)


@lru_cache(maxsize=_REMEMBERED_NAMES)
def _partition_key(routing_key: str) -> str:
    if not routing_key.isascii():
        routing_key = routing_key.encode(errors="replace").decode()
    return routing_key[:_LONGEST_KEY] or "-"
