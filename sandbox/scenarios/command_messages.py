"""The messages of a command that a scenario is played against: what is in its stream, and what it got."""

from __future__ import annotations

from collections import defaultdict

from emulator.clock import Clock
from rdss_sandbox.shapes.trace import Put, Read, TraceItem
from sandbox.certify.history import Level, OfferedMessage
from sandbox.certify.lab import ERROR, INPUT, INVALID, Lab
from sandbox.scenarios.workload import identity
from schemas.bound import CONTRACT
from schemas.contract import Peek


class CommandMessages:
    """What our gateway has put on the input of a lab, and what the command got of it; it watches the lab.

    ``data`` has the records of the input by (shard, sequence number).
    """

    def __init__(self, lab: Lab) -> None:
        self._lab = lab
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
        for shard, record in self._lab.records_after(self._last):
            place = shard, record.sequence_number
            self.data[place] = record.data
            self._lab.history.put_at[place] = self._lab.now
            self._learn(record.data, CONTRACT.peek(record.data))

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
        return sum(len(self._lab.written(stream)) for stream in (ERROR, INVALID))

    @property
    def judged_at(self) -> dict[str, float]:
        """When the command got each message first, or else rejected it, by its name in events.

        It is in seconds since the epoch on the machine's clock.
        """
        named = {self._names.get(each, each): at for each, at in (self._came | self._rejected).items()}
        return {name: self._real_start + at for name, at in named.items()}

    def _learn(self, data: bytes, peek: Peek) -> None:
        name = identity(data)
        message_id = peek.message_id or name
        self._names[message_id] = name
        if part := peek.part:
            self._sequence_of[message_id] = part.sequence
            self._sequences[part.sequence][part.position] = message_id
            self._totals[part.sequence] = part.total

    def note_item(self, item: TraceItem) -> None:
        """Take note of what the command got and rejected, before the answer goes out."""
        lab = self._lab
        if isinstance(item, Read) and item.stream == INPUT:
            for each in item.records:
                if each.message_id is not None and each.message_id not in lab.known:
                    # A command tells of what it was given. The clauses on repeats ask for what was sent.
                    lab.known.add(each.message_id)
                    lab.history.sent.append(OfferedMessage(each.message_id, "", Level.BRONZE, item.at))
                    self._came[each.message_id] = item.at
        elif isinstance(item, Put) and item.stream in {ERROR, INVALID}:
            for entry in item.entries:
                if entry.message_id is not None:
                    self._rejected.setdefault(entry.message_id, item.at)
