"""The newest message in the error and invalid queues, for people who watch."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from emulator.clock import stopwatch
from emulator.listeners.control.watch.sentences import tell
from emulator.streams.merged_reading import ShardKey
from emulator.streams.stream_catalogue import Catalogue, ListedStream
from rdss_sandbox.shapes.events import Event
from rdss_sandbox.shapes.picture import NewsLine
from schemas.contract import Contract

_PAGE: Final = 50
_LOOK_SECONDS: Final = 0.01
"""Real seconds of one look; what is not read by then, the next one reads."""
_NOTHING: Final = (0, None)


class RejectedMessages:
    """Reads the streams named ``queues`` on from its last look, a bounded time at each.

    ``meanings`` are those of error codes. ``last`` is the newest message that was read, or None.
    """

    def __init__(
        self, catalogue: Catalogue, queues: Collection[str], contract: Contract, meanings: Mapping[str, str]
    ) -> None:
        self._catalogue = catalogue
        self._queues = queues
        self._contract = contract
        self._meanings = meanings
        self._read: dict[ShardKey, tuple[int, str | None]] = {}
        self.last: NewsLine | None = None

    def read_on(self, listed: Iterable[ListedStream]) -> None:
        """Read what was put into the queues since the last look."""
        there = {
            ShardKey(each.label, shard.id, each.view.generation): shard.put
            for each in listed
            if each.label in self._queues
            for shard in each.view.shards
        }
        if self._read.keys() - there.keys():
            # A queue was deleted: so is what was last in it.
            self._read = {key: read for key, read in self._read.items() if key in there}
            self.last = None
        began = stopwatch()
        for key, put in there.items():
            while self._read.get(key, _NOTHING)[0] != put and stopwatch() - began < _LOOK_SECONDS:
                self._read_page(key, put)

    def _read_page(self, key: ShardKey, put: int) -> None:
        _, after = self._read.get(key, _NOTHING)
        records = self._catalogue.read(key, after, _PAGE)
        if records:
            record = records[-1]
            after = record.sequence_number
            if self.last is None or record.arrived >= self.last.at:
                peek = self._contract.peek(record.data, record.partition_key or "")
                fields = {"queue": key.stream, "code": peek.error_code, "message_id": peek.message_id}
                sentence = tell(Event(0, record.arrived, "message.rejected", fields), self._meanings)
                self.last = NewsLine(0, record.arrived, "bad", sentence)
        # After a full page there may be more.
        self._read[key] = (-1 if len(records) == _PAGE else put), after
