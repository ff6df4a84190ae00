"""All streams by account and region, and the journal that keeps their states."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.journal import Block, KeyedLog, Segments, put_aside, unlist_below
from emulator.kinesis.errors import in_use, internal_failure, invalid_argument, not_found, stream_not_found
from emulator.kinesis.limits import EngineLimits
from emulator.kinesis.reader_tracking import Readers
from emulator.kinesis.resharding import ShardsDraft
from emulator.kinesis.scope import Scope, consumer_of, stream_of
from emulator.kinesis.shard_subscriptions import Subscriptions
from emulator.kinesis.stream import Shard, Stream
from emulator.kinesis.stream_state import (
    AccountState,
    Change,
    Reshard,
    StreamGone,
    StreamState,
    decode,
    encode,
    key_of,
    read_old,
)

_FLUSHING: Final = ThreadPoolExecutor(4, "flush")


class Registry:
    """The streams, found by name, ARN or id. Changes are durable when ``save`` returns.

    Callers hold ``lock``. ``transition`` is how many clock seconds a stream stays CREATING, UPDATING or
    DELETING. Methods that find a stream settle it first, so that a transition that is due has ended.
    """

    def __init__(
        self,
        directory: Path | None,
        clock: Clock,
        events: Events,
        limits: EngineLimits,
        *,
        fsync: bool,
        transition: float,
        segment_bytes: int,
    ) -> None:
        # Taken twice by a subscription that ends within its own read.
        self.lock = threading.RLock()
        self.clock = clock
        self.events = events
        self.limits = limits
        self.subscriptions = Subscriptions(self.lock, clock, self.settle)
        self.readers = Readers()
        self.fsync = fsync
        self.transition = transition
        self.accounts: dict[Scope, AccountState] = {}
        self._directory = directory
        self._segment_bytes = segment_bytes
        self._streams: dict[Scope, dict[str, Stream]] = {}
        self._by_number: dict[int, Stream] = {}
        self._last_number = 0
        self._written: list[Shard] = []
        self._touched: list[tuple[Stream, Shard]] = []
        self._journal: KeyedLog | None = None
        if directory is not None:
            self._journal = self._open(directory, fsync=fsync)

    def now_ms(self) -> int:
        """Clock time in whole milliseconds since the epoch."""
        return int(self.clock.time() * 1000)

    def settle_all(self, scope: Scope) -> list[Stream]:
        """Settle the streams of an account in a region, and return those that are left, by name."""
        # A copy: a stream whose deletion is due goes as it is settled.
        for stream in list(self._streams.get(scope, {}).values()):
            self.settle(stream)
        return sorted(self._streams.get(scope, {}).values(), key=lambda stream: stream.name)

    def scopes(self) -> list[Scope]:
        """Every account and region that has a stream."""
        return [scope for scope, streams in self._streams.items() if streams]

    def find(self, request: dict[str, Any], scope: Scope) -> Stream:
        """Find the stream that a request names by StreamARN, StreamName, StreamId or ConsumerARN.

        Raises ResourceNotFoundException and InvalidArgumentException.
        """
        name, arn = request.get("StreamName"), request.get("StreamARN")
        if arn is None and request.get("ConsumerARN") is not None:
            consumer = consumer_of(request["ConsumerARN"])
            arn = consumer.stream_arn if consumer else request["ConsumerARN"]
        if arn is not None:
            return self._find_arn(arn, name)
        if name is not None:
            return self.named(name, scope)
        if request.get("StreamId") is not None:
            return self._find_id(request["StreamId"], scope)
        raise invalid_argument("Either StreamName or StreamARN must be specified.")

    def named(self, name: str, scope: Scope) -> Stream:
        """The stream of this name. Raises ResourceNotFoundException."""
        stream = self._streams.get(scope, {}).get(name)
        if stream is not None:
            self.settle(stream)
            # It is gone if its deletion was due.
            if stream.state.number in self._by_number:
                return stream
        raise stream_not_found(name, scope.account)

    def anywhere(self, name: str, scope: Scope | None) -> Stream:
        """The stream of this name in ``scope``; without one, the first in any account and region.

        Raises ResourceNotFoundException.
        """
        if scope is not None:
            return self.named(name, scope)
        for each, streams in self._streams.items():
            if name in streams:
                return self.named(name, each)
        raise stream_not_found(name, "any")

    def find_ready(self, request: dict[str, Any], scope: Scope) -> Stream:
        """``find``, for reading and writing: while a stream is created or deleted, it is not found."""
        stream = self.find(request, scope)
        if stream.status(self.clock.time()) in ("CREATING", "DELETING"):
            raise not_found(f"Stream {stream.name} under account {stream.account} not found.")
        return stream

    def find_active(self, request: dict[str, Any], scope: Scope) -> Stream:
        """Find a stream that is ACTIVE. Raises what ``find`` raises, and ResourceInUseException."""
        stream = self.find(request, scope)
        self.require_status(stream, "ACTIVE")
        return stream

    def require_status(self, stream: Stream, *statuses: str) -> None:
        """Raise ResourceInUseException unless the stream is in one of these states."""
        status = stream.status(self.clock.time())
        if status not in statuses:
            raise in_use(
                f"Stream {stream.name} under account {stream.account} not ACTIVE, instead in state {status}"
            )

    def numbered(self, number: int) -> Stream | None:
        """The stream with this number; None when there is none."""
        stream = self._by_number.get(number)
        if stream is not None:
            self.settle(stream)
        return self._by_number.get(number)

    def new_number(self) -> int:
        """A number that no stream has or had."""
        return self._last_number + 1

    def save(self, change: StreamState | AccountState) -> None:
        """Make ``change`` durable, then apply it. Raises InternalFailure and then changes nothing."""
        self._append(change)
        self._take(change)

    def forget(self, stream: Stream) -> None:
        """Delete the stream and its records."""
        gone = StreamGone(stream.state.number)
        self._append(gone)
        self._take(gone)

    def settle(self, stream: Stream) -> None:
        """End the stream's transition if it is due: it gets its new shards, or is deleted."""
        state = stream.state
        if state.coming is None and state.busy != "DELETING":
            return
        if self.clock.time() >= state.busy_until:
            self.finish(stream)

    def finish(self, stream: Stream) -> None:
        """End the stream's transition, due or not."""
        state, now = stream.state, self.clock.time()
        if state.busy == "DELETING":
            self.forget(stream)
        elif state.coming is not None:
            # The shards close when it was due, however late somebody asks.
            self.reshard(stream, state.coming, min(now, state.busy_until))
        elif now < state.busy_until:
            self.save(changed(state, busy_until=0.0))

    def reshard(self, stream: Stream, reshard: Reshard, now: float, **fields: Any) -> None:
        """Give the stream its new shards at ``now`` (seconds), and replace ``fields`` of its state."""
        # Synced before the new shards are saved: a power cut must not leave children whose parents have
        # lost records that were to be read before theirs.
        draft = ShardsDraft(stream, int(now * 1000))
        draft.apply(reshard)
        shards = list(stream.open_shards)
        self.sync(shards)
        self.save(draft.state(coming=None, busy_until=0.0, **fields))
        self.touch(stream, (shard for shard in shards if not shard.is_open))
        before, after = ({shard.id for shard in some} for some in (shards, stream.open_shards))
        self.events.emit(
            "stream.resharded",
            stream=stream.name,
            action=type(reshard).__name__.lower(),
            closed=sorted(before - after),
            opened=sorted(after - before),
        )

    def updating(self) -> dict[str, Any]:
        """The fields that make a stream's state UPDATING from now on."""
        return {"busy": "UPDATING", "busy_until": self.settled_at()}

    def settled_at(self) -> float:
        """When a transition that begins now ends, in seconds since the epoch.

        Without transitions it is 0 and not now: the clock may be set back to before now.
        """
        return self.clock.time() + self.transition if self.transition else 0.0

    def touch_written(self, stream: Stream, shards: list[Shard]) -> None:
        """Have ``shards`` flushed, and their readers look again: both are in ``take_touched`` until then."""
        self._written += shards
        for shard in shards:
            self._touched.append((stream, shard))

    def touch(self, stream: Stream, shards: Iterable[Shard]) -> None:
        """Note that the readers of ``shards`` are to look again."""
        self._touched.extend((stream, shard) for shard in shards)

    def take_touched(self) -> tuple[list[Shard], list[tuple[Stream, Shard]]]:
        """Return and forget the shards that were written, and those whose readers are to look again."""
        taken = self._written, self._touched
        self._written, self._touched = [], []
        return taken

    def list_streams(self) -> list[Stream]:
        """Every stream of every account and region."""
        return list(self._by_number.values())

    def list_states(self) -> list[Change]:
        """The present state of every account and stream."""
        return [*self.accounts.values(), *(stream.state for stream in self._by_number.values())]

    def replace(
        self, changes: Sequence[Change], records: Mapping[tuple[int, int], Sequence[Block]], leap: int
    ) -> None:
        """Replace everything by copies: states, and the records of shards by stream number and index.

        Subscriptions end. Sequence numbers of new records are beyond all that had a lower ``leap``, so a
        reader from before goes on with the new ones. A failure leaves a mixture. Raises OSError.
        """
        self.subscriptions.end_all()
        self.readers = Readers()
        for stream in tuple(self._by_number.values()):
            self.touch(stream, stream.shards.values())
            self._drop(stream.state.number)
        self.accounts.clear()
        present = [
            changed(change, leap=leap) if isinstance(change, StreamState) else change for change in changes
        ]
        for change in present:
            self._take(change)
        for (number, index), blocks in records.items():
            self._by_number[number].put_back(index, blocks)
        for stream in self._by_number.values():
            self.sync(stream.shards.values())
            self.touch(stream, stream.shards.values())
        if self._journal is not None:
            # The highest number is never used again, whichever stream had it.
            states = [StreamGone(self._last_number), *present]
            self._journal.replace(((key_of(each), encode(each)) for each in states), synced=False)

    def check_shard_quota(self, scope: Scope, more: int) -> None:
        """Raise LimitExceededException when ``more`` open shards are too many for the account."""
        self.limits.new_shards(scope, sum(len(stream.open_shards) for stream in self.settle_all(scope)), more)

    def expire_shards(self, stream: Stream) -> int:
        """Forget the shards that were closed before the trim horizon, since all their records are gone.

        Returns the horizon, in ms since the epoch.
        """
        horizon = stream.advance_horizon(self.now_ms())
        kept = [shard for shard in stream.state.shards if shard.closed is None or shard.closed >= horizon]
        if len(kept) < len(stream.state.shards):
            self.save(changed(stream.state, shards=kept))
        return horizon

    def forget_expired(self, stream: Stream) -> None:
        """Forget the shards and the records of a stream that are past its trim horizon."""
        horizon = self.expire_shards(stream)
        for shard in stream.shards.values():
            if not shard.unused:
                shard.records.trim(horizon)

    def sync(self, shards: Iterable[Shard]) -> None:
        """With ``fsync``, return when the records of ``shards`` are on disk. Raises InternalFailure."""
        if not self.fsync:
            return
        # In a set: several calls may have written to one shard.
        used = {shard.records: None for shard in shards if not shard.unused}
        first, *others = used or (None,)
        try:
            # At once: a file system puts flushes that meet into one write of its journal.
            under_way = [_FLUSHING.submit(records.sync) for records in others]
            if first is not None:
                first.sync()
            for each in under_way:
                each.result()
        except OSError as error:
            raise internal_failure(f"the records could not be made durable: {error}") from error

    def records(self) -> Iterator[Segments]:
        """The records of every shard that was used."""
        shards = (shard for stream in self._by_number.values() for shard in stream.shards.values())
        return (shard.records for shard in shards if not shard.unused)

    def close(self) -> None:
        for stream in self._by_number.values():
            stream.close()
        if self._journal is not None:
            self._journal.close()

    def _find_arn(self, arn: str, name: str | None) -> Stream:
        found = stream_of(arn)
        if found is None:
            raise invalid_argument(f"StreamARN {arn} is not valid.")
        scope, arn_name = found
        if name is not None and name != arn_name:
            raise invalid_argument(f"StreamARN {arn} and StreamName {name} do not name the same stream.")
        return self.named(arn_name, scope)

    def _find_id(self, stream_id: str, scope: Scope) -> Stream:
        for stream in self.settle_all(scope):
            if stream.state.id == stream_id:
                return stream
        raise not_found(f"Stream with id {stream_id} under account {scope.account} not found.")

    def _append(self, change: Change) -> None:
        if self._journal is None:
            return
        try:
            # A full disk must not keep anyone from deleting.
            freeing = isinstance(change, StreamGone)
            self._journal.append([(key_of(change), encode(change))], freeing=freeing)
        except OSError as error:
            raise internal_failure(f"the change could not be stored: {error}") from error

    def _take(self, change: Change) -> None:
        if isinstance(change, AccountState):
            self.accounts[change.scope] = change
        elif isinstance(change, StreamGone):
            self._drop(change.number)
        elif (stream := self._by_number.get(change.number)) is not None:
            stream.take(change)
        else:
            directory = self._directory / "streams" / f"{change.number:09d}" if self._directory else None
            # Until the journal is open, streams are those of an earlier process.
            stream = Stream(
                change, directory, self._segment_bytes, fsync=self.fsync, stored=self._journal is None
            )
            self._by_number[change.number] = stream
            self._streams.setdefault(change.scope, {})[change.name] = stream
            self._last_number = max(self._last_number, change.number)
            self._report_torn(stream)

    def _drop(self, number: int) -> None:
        self._last_number = max(self._last_number, number)
        stream = self._by_number.pop(number, None)
        if stream is None:
            return
        del self._streams[stream.state.scope][stream.name]
        for shard in stream.shards.values():
            if not shard.unused:
                shard.records.delete()
        if stream.directory is not None:
            shutil.rmtree(stream.directory, ignore_errors=True)

    def _open(self, directory: Path, *, fsync: bool) -> KeyedLog:
        path = directory / "state.log"
        journal = KeyedLog(path, fsync=fsync, read_old=read_old)
        try:
            states = [decode(state) for state in journal.read().values()]
            for state in states:
                self._take(state)
        # Without a registry nobody else can close it.
        except BaseException:
            journal.close()
            raise
        gone = {state.number for state in states if isinstance(state, StreamGone)}
        self._sweep(directory, gone)
        if journal.torn_bytes:
            self.events.emit("journal.cut", file=str(path), bytes=journal.torn_bytes)
        # The highest number must not be used again, and a stream of which files are left is to be swept.
        left = {path.name for path in (directory / "streams").glob("*")}
        over = [n for n in gone if n != self._last_number and f"{n:09d}" not in left]
        # It can wait for the next start: these entries do nothing but take room.
        with suppress(OSError):
            journal.append([(str(number).encode(), None) for number in over])
        return journal

    def _sweep(self, directory: Path, gone: Collection[int]) -> None:
        """Remove the records of streams whose deletion was journalled but not finished.

        Records of streams and shards that the journal does not know are put aside: the journal was damaged.
        """
        for path in sorted((directory / "streams").glob("*")):
            number = int(path.name) if path.name.isdecimal() else 0
            stream = self._by_number.get(number)
            if number in gone:
                unlist_below(path)
                shutil.rmtree(path, ignore_errors=True)
            elif stream is not None:
                for shard in sorted(path.glob("*")):
                    if shard.name.isdecimal() and int(shard.name) >= stream.state.next_shard:
                        self._put_aside(directory, shard, f"state.log knows no such shard of {stream.name}")
            elif number:
                self._last_number = max(self._last_number, number)
                self._put_aside(directory, path, "state.log does not know which stream's records they are")

    def _put_aside(self, directory: Path, path: Path, why: str) -> None:
        unlist_below(path)
        to = put_aside(path, directory)
        self.events.emit("journal.put_aside", file=str(path), to=str(to), why=why)

    def _report_torn(self, stream: Stream) -> None:
        for shard in stream.shards.values():
            if not shard.unused and shard.records.torn_bytes:
                self.events.emit(
                    "journal.cut",
                    file=str(shard.records.directory),
                    stream=stream.name,
                    shard=shard.id,
                    bytes=shard.records.torn_bytes,
                )


def changed(state: StreamState, **fields: Any) -> StreamState:
    """``state`` with ``fields`` replaced."""
    return msgspec.structs.replace(state, **fields)
