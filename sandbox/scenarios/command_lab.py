"""The lab of a command that a scenario is played against: what its stream holds, and what the command did."""

from __future__ import annotations

from collections import defaultdict

from emulator.clock import Clock
from rdss_sandbox.shapes.trace import Put, Read, TraceItem
from sandbox.certify.history import Level, Sent
from sandbox.certify.lab import ERROR, INPUT, INVALID, Lab
from sandbox.scenarios.workload import identity
from schemas.bound import CONTRACT
from schemas.contract import Peek

_AT_ONCE = 10_000


class CommandLab(Lab):
    """A lab whose messages are sent by our gateway.

    ``data`` has the records of the input by (shard, sequence number). ``judged_at`` has the time at which the
    command got each message first, or else rejected it, by the name of the message in events, in seconds
    since the epoch on the machine's clock.
    """

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self._real_start = Clock().time()
        self._last: dict[str, str] = {}
        self.data: dict[tuple[str, str], bytes] = {}
        self._names: dict[str, str] = {}
        self._sequences: dict[str, dict[int, str]] = defaultdict(dict)
        self._totals: dict[str, int] = {}
        self._sequence_of: dict[str, str] = {}
        self._came: dict[str, float] = {}
        self._rejected: dict[str, float] = {}

    def scan(self) -> None:
        """Take note of the records that came to the input since the last call."""
        for shard in self._shards():
            for record in self._emulator.components.streams.read(
                INPUT, shard.id, self._last.get(shard.id), _AT_ONCE
            ):
                self._last[shard.id] = record.sequence_number
                self.data[shard.id, record.sequence_number] = record.data
                self._learn(record.data, CONTRACT.peek(record.data))

    def undelivered(self) -> set[tuple[str, str]]:
        """The (shard, sequence number) of each record that the command was not given, as of the last scan."""
        return self.data.keys() - self._given

    def wholes(self) -> set[str]:
        """The names of the messages of which every part was in the input at the last scan."""
        whole = {name for name in self._names.values() if name not in self._sequence_of}
        return whole | {
            parts[1] for sequence, parts in self._sequences.items() if len(parts) == self._totals[sequence]
        }

    def whole_of(self, message_id: str) -> str:
        """The name of the message to which a messageId belongs: that of the first part of its sequence."""
        sequence = self._sequence_of.get(message_id)
        if sequence is None:
            return self._names.get(message_id, message_id)
        return self._sequences[sequence].get(1, message_id)

    def parts_of(self, message_id: str) -> int:
        """The number of parts of the sequence to which a messageId belongs; 1 without a sequence."""
        return self._totals.get(self._sequence_of.get(message_id, ""), 1)

    def rejected(self) -> int:
        """Count the messages in the error and invalid queues."""
        return sum(len(self.written(stream)) for stream in (ERROR, INVALID))

    @property
    def judged_at(self) -> dict[str, float]:
        named = {self._names.get(each, each): at for each, at in (self._came | self._rejected).items()}
        return {name: self._real_start + at for name, at in named.items()}

    def _learn(self, data: bytes, seen: Peek) -> None:
        name = identity(data)
        message_id = seen.message_id or name
        self._names[message_id] = name
        if part := seen.part:
            self._sequence_of[message_id] = part.sequence
            self._sequences[part.sequence][part.position] = message_id
            self._totals[part.sequence] = part.total

    def note_item(self, item: TraceItem, data: bytes = b"") -> None:
        if isinstance(item, Read) and item.stream == INPUT:
            for each in item.records:
                if each.message_id is not None and each.message_id not in self.known:
                    # A command tells of what it was given. The clauses on repeats ask for what was sent.
                    self.known.add(each.message_id)
                    self.history.sent.append(Sent(each.message_id, "", Level.BRONZE, item.at))
                    self._came[each.message_id] = item.at
        elif isinstance(item, Put) and item.stream in {ERROR, INVALID}:
            for entry in item.entries:
                if entry.message_id is not None:
                    self._rejected.setdefault(entry.message_id, item.at)
        super().note_item(item, data)
