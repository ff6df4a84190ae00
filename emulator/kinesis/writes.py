"""Writing records: each is rendered once, into the line in which it will leave; a shard's share is one block."""

from __future__ import annotations

import msgspec

from emulator.kinesis.records import data_size, encode_key
from emulator.kinesis.stream import Shard, Stream

_KEY = b',"PartitionKey":'


class Entry(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A record to put; ``Data`` is its base64 in quotes, as it came."""

    Data: msgspec.Raw
    PartitionKey: str
    ExplicitHashKey: str | None = None


class Batch:
    """The lines of one call for one shard, which all arrive at the same time."""

    __slots__ = (
        "answer_end",
        "answer_start",
        "arrival",
        "line_end",
        "line_middle",
        "line_start",
        "lines",
        "next",
        "shard",
        "size",
    )

    def __init__(self, shard: Shard, now: int, encryption: str) -> None:
        arrival = shard.arrival(now)
        prefix, stamp = shard.prefix.encode(), b"%013d" % arrival
        self.shard = shard
        self.arrival = arrival
        self.next = shard.records.next
        self.size = 0
        self.lines: list[bytes | msgspec.Raw] = []
        self.line_start = b'{"SequenceNumber":"' + prefix
        seconds, millis = divmod(arrival, 1000)
        self.line_middle = b'%b","ApproximateArrivalTimestamp":%d.%03d,"Data":' % (stamp, seconds, millis)
        self.line_end = (
            b"},\n" if encryption == "NONE" else b',"EncryptionType":"%b"},\n' % encryption.encode()
        )
        self.answer_start = self.line_start
        self.answer_end = b'%b","ShardId":"%b"}' % (stamp, shard.id.encode())

    def store(self) -> None:
        """Append the lines to the shard as one block. OSError leaves nothing of them behind."""
        records = self.shard.records
        records.append(b"".join(self.lines), self.next - records.next, self.size, self.arrival)


class Written(msgspec.Struct):
    """What came of a call: an answer (JSON) for each entry in order, what was written where, and the failures."""

    answers: list[bytes]
    shards: dict[Shard, Batch]
    failed: int = 0
    reason: str = ""


def write(stream: Stream, entries: list[Entry], now: int) -> Written:
    """Append ``entries`` at ``now`` ms. A block that cannot be written fails its own entries and no others."""
    batches: dict[Shard, Batch] = {}
    answers: list[bytes] = []
    encryption = stream.state.encryption
    route = stream.route
    for entry in entries:
        shard = route(entry.PartitionKey, entry.ExplicitHashKey)
        batch = batches.get(shard)
        if batch is None:
            batch = batches[shard] = Batch(shard, now, encryption)
        number = b"%016d" % batch.next
        batch.next += 1
        data = entry.Data
        batch.size += data_size(data)
        batch.lines += (
            batch.line_start,
            number,
            batch.line_middle,
            data,
            _KEY,
            encode_key(entry.PartitionKey),
            batch.line_end,
        )
        answers.append(batch.answer_start + number + batch.answer_end)
    return _store(stream, entries, Written(answers, batches), now)


def _store(stream: Stream, entries: list[Entry], written: Written, now: int) -> Written:
    horizon = stream.horizon(now)
    for shard, batch in list(written.shards.items()):
        shard.records.trim(horizon)
        try:
            batch.store()
        except OSError as error:
            del written.shards[shard]
            written.reason = f"the records could not be stored: {error}"
            answer = msgspec.json.encode({"ErrorCode": "InternalFailure", "ErrorMessage": written.reason})
            for i, entry in enumerate(entries):
                if stream.route(entry.PartitionKey, entry.ExplicitHashKey) is shard:
                    written.answers[i] = answer
                    written.failed += 1
    return written
