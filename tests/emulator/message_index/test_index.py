"""The message index: every message once, in the order of arrival, found again in any way.

It is tried with messages of each contract, but for expiry, sequences and the fields of a header, which only
RDSS has.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from emulator.kinesis import StoredRecord
from emulator.message_index.index import MessageIndex
from emulator.message_index.sql_filter import compile_filter, list_columns
from emulator.streams.merged_reading import ShardKey
from rdss_sandbox.questions.message_filter import FilterError
from schemas.contract import Contract, Sample, SampleMaker
from schemas.rdss.contract import RDSS
from tests.contracts import CONTRACTS, NAMES, make_samples

PUBLISHED = "2026-11-21T08:00:00Z"
NOON = 1_795_248_000.0  # the same moment


@dataclass
class FakeStreams:
    """Streams that hold what the test puts there."""

    records: dict[ShardKey, list[StoredRecord]] = field(default_factory=dict)
    reads: int = 0

    def put(self, stream: str, data: bytes, *, at: float = NOON, shard: str = "0", key: str = "k") -> None:
        there = self.records.setdefault(ShardKey(stream, shard, "g1"), [])
        there.append(StoredRecord(str(len(there) + 1), key, data, at))

    def send(self, *samples: Sample, at: float = NOON, shards: int = 1) -> None:
        """Put messages under the keys that their sender gave them, a second apart, in shards in turn."""
        for number, each in enumerate(samples):
            self.put("input", each.data, at=at + number, shard=str(number % shards), key=each.key)

    def shards(self) -> Iterable[ShardKey]:
        return list(self.records)

    def read(self, shard: ShardKey, after: str | None, limit: int) -> list[StoredRecord]:
        self.reads += 1
        start = int(after or 0)
        return self.records.get(shard, [])[start : start + limit]

    def at(self, shard: ShardKey, sequence_number: str) -> bytes | None:
        there = self.records.get(shard, [])
        return there[int(sequence_number) - 1].data if there else None

    def at_each(self, places: Iterable[tuple[ShardKey, str]]) -> Iterator[bytes | None]:
        return (self.at(shard, number) for shard, number in places)


def message(message_id: str | None = "m-1", **header: object) -> bytes:
    header |= {"messageTimings": {"publishedTimestamp": PUBLISHED}}
    return msgspec.json.encode({"messageHeader": {"messageId": message_id, **header}, "messageBody": {}})


@pytest.fixture
def streams() -> FakeStreams:
    return FakeStreams()


@pytest.fixture(params=CONTRACTS, ids=NAMES)
def contract(request: pytest.FixtureRequest) -> Contract:
    """Each contract, for what holds of the messages of any."""
    found: Contract = request.param
    return found


@pytest.fixture
def samples(contract: Contract) -> SampleMaker:
    return make_samples(contract, 1, NOON)


@pytest.fixture
def any_index(streams: FakeStreams, contract: Contract) -> Iterator[MessageIndex]:
    """An index of messages of ``contract``."""
    index = MessageIndex(streams, contract=contract)
    yield index
    index.close()


@pytest.fixture
def index(streams: FakeStreams) -> Iterator[MessageIndex]:
    index = MessageIndex(streams, contract=RDSS)
    yield index
    index.close()


def test_messages_are_numbered_in_the_order_of_arrival_across_shards(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker
) -> None:
    """Ids count from 1 without gaps; what came earlier has the lower one, whatever its shard."""
    sent = list(samples.stream(500))
    streams.send(*sent, shards=3)

    assert any_index.catch_up(10)
    rows = any_index.page(limit=500).messages
    assert [row.id for row in rows] == list(range(1, 501))
    assert [row.message_id for row in rows] == [each.key for each in sent]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    arrivals=st.lists(st.tuples(st.integers(0, 3), st.integers(0, 5)), max_size=60),
    batches=st.integers(1, 5),
)
def test_nothing_is_missed_or_repeated_however_it_is_fed(
    contract: Contract, arrivals: list[tuple[int, int]], batches: int
) -> None:
    """Any arrival times in any shards, asked for at any moment: a row for each record, in shard order."""
    streams = FakeStreams()
    index = MessageIndex(streams, contract=contract)
    size = max(1, len(arrivals) // batches)
    for start in range(0, len(arrivals), size):
        for shard, at in arrivals[start : start + size]:
            streams.put("input", b"x", at=NOON + at, shard=str(shard))
        assert index.catch_up(10)
    rows = index.page(limit=1000).messages
    index.close()

    for shard, records in streams.records.items():
        numbers = [row.sequence_number for row in rows if row.shard == shard.shard]
        assert numbers == [record.sequence_number for record in records]
    assert [row.id for row in rows] == list(range(1, len(arrivals) + 1))


def test_a_row_says_what_the_header_says(streams: FakeStreams, index: MessageIndex) -> None:
    """What is in the header is read from there, size and place are the stream's."""
    header = {
        "messageType": "MetadataCreate",
        "messageClass": "Command",
        "messageSequence": {"sequence": "s-1", "position": 2, "total": 3},
        "errorCode": "GENERR001",
        "tenantJiscID": 12,
        "version": "4.0.0",
    }
    streams.put("invalid", message("m-9", **header), key="somebody")
    index.catch_up()

    row = index.page().messages[0]
    assert (row.stream, row.shard, row.sequence_number, row.partition_key) == (
        "invalid",
        "0",
        "1",
        "somebody",
    )
    assert (row.message_id, row.message_type, row.message_class) == ("m-9", "MetadataCreate", "Command")
    assert (row.sequence, row.position, row.total) == ("s-1", 2, 3)
    assert (row.code, row.tenant, row.version, row.marks) == ("GENERR001", 12, "4.0.0", ())
    assert row.size == len(message("m-9", **header))
    assert index.data(row) == message("m-9", **header)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"not json",
        b"\xff\xfe\x00",
        b"[]",
        b'{"messageHeader": 7}',
        b'{"messageHeader":{"messageId":"\\ud800","tenantJiscID":1}}',
        b'{"messageHeader":{"tenantJiscID":123456789012345678901234567890}}',
        b'{"messageHeader":{"messageTimings":{"publishedTimestamp":"9999-99-99T99:99:99Z"}}}',
        b'{"messageHeader":{"messageTimings":{"publishedTimestamp":"2026-01-01"}}}',
        b"[" * 5000,
    ],
)
def test_any_bytes_become_a_row(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker, data: bytes
) -> None:
    """Bad input never stops the index; its bytes can be had back."""
    after = samples.message()
    streams.send(Sample(data, "k"), after)

    assert any_index.catch_up()
    first, second = any_index.page().messages
    assert any_index.data(first) == data
    assert second.message_id == after.key


def test_marks_tell_duplicates_retries_oversize_and_late_ones(
    streams: FakeStreams, index: MessageIndex
) -> None:
    """Each mark where it is deserved, and only there."""
    streams.put("input", message("a"))
    streams.put("input", message("a"))
    streams.put("output", message("a"))
    streams.put("input", message("a", version="4.0.1"))
    streams.put("input", message("b"), at=NOON + 61)
    streams.put("input", message("c") + b" " * 1_000_000, at=NOON + 61)
    streams.put("input", b"no json", at=NOON + 61)
    streams.put("input", b"no json", at=NOON + 61)
    index.catch_up()

    rows = index.page().messages
    in_output = next(row for row in rows if row.stream == "output")
    assert in_output.marks == ()
    assert [row.marks for row in rows if row.stream == "input"] == [
        (),
        ("duplicate",),
        ("duplicate", "retried"),
        ("late",),
        ("late", "oversize"),
        (),
        ("duplicate",),
    ]


def test_a_message_past_its_expiry_is_late(streams: FakeStreams, index: MessageIndex) -> None:
    """The expirationTimestamp counts as well as the minute after publishing."""
    timings = {"publishedTimestamp": PUBLISHED, "expirationTimestamp": "2026-11-21T08:00:10Z"}
    data = msgspec.json.encode(
        {"messageHeader": {"messageId": "m", "messageTimings": timings}, "messageBody": {}}
    )
    streams.put("input", data, at=NOON + 9)
    streams.put("output", data, at=NOON + 11)
    index.catch_up()

    assert [row.marks for row in index.page().messages] == [(), ("late",)]


def test_pages_by_offset_and_after_an_id(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker
) -> None:
    """From the start, from the end, after an id; beyond the end there is nothing."""
    index = any_index
    streams.send(*samples.stream(10))
    index.catch_up()

    assert [row.id for row in index.page(offset=3, limit=2).messages] == [4, 5]
    assert [row.id for row in index.page(offset=-2).messages] == [9, 10]
    assert [row.id for row in index.page(offset=-99, limit=1).messages] == [1]
    assert [row.id for row in index.page(after=8).messages] == [9, 10]
    assert index.page(offset=10).messages == ()
    assert index.page(limit=0).messages == ()
    assert index.page(limit=0).total == 10


def test_a_filter_counts_and_pages_over_what_matches_also_as_more_comes(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker, contract: Contract
) -> None:
    """Total and pages are of the matches; a message that comes later is found by the same filter."""
    assert contract.samples is not None
    even, odd, *_ = contract.samples.kinds
    index, wanted = any_index, f"type:{even}"
    streams.send(*(samples.message(odd if n % 2 else even) for n in range(10)))
    index.catch_up()

    page = index.page(wanted, offset=1, limit=2)
    assert ([row.id for row in page.messages], page.total, page.last) == ([3, 5], 5, 10)
    assert [row.id for row in index.page(wanted, offset=-1).messages] == [9]
    assert [row.id for row in index.page(wanted, after=5).messages] == [7, 9]
    assert {each.value: each.count for each in index.counts("type")} == {even: 5, odd: 5}

    streams.send(samples.message(even), at=NOON + 10)
    index.catch_up()
    assert index.page(wanted).total == 6
    with pytest.raises(FilterError):
        index.page("nonsense:1")


def test_many_filters_do_not_pile_up(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker
) -> None:
    """Only the filters used last are remembered; an older one answers the same when asked again."""
    streams.send(samples.message())
    any_index.catch_up()

    (row,) = any_index.page().messages
    for _ in range(2):
        found = [any_index.page(f"size:{row.size + n}").total for n in range(30)]
        assert found == [1] + [0] * 29
    assert len(any_index._matches) <= 8


def test_the_index_goes_on_where_it_stopped(
    streams: FakeStreams, tmp_path: Path, contract: Contract, samples: SampleMaker
) -> None:
    """A second process on the same directory has the same rows under the same ids, and adds what is new."""
    path = tmp_path / "messages.db"
    one, other = samples.message(), samples.message()
    streams.send(one)
    first = MessageIndex(streams, path, contract=contract)
    first.catch_up()
    before = first.page()
    first.close()

    streams.send(other)
    second = MessageIndex(streams, path, contract=contract)
    assert second.page() == before
    second.catch_up()
    assert [row.message_id for row in second.page().messages] == [one.key, other.key]
    second.close()


@pytest.mark.parametrize("damage", ["gone", "garbage", "older"])
def test_a_lost_or_unreadable_index_is_made_again(
    streams: FakeStreams, tmp_path: Path, damage: str, contract: Contract, samples: SampleMaker
) -> None:
    """The streams are the truth: nothing is lost with the index."""
    path = tmp_path / "messages.db"
    sample = samples.message()
    streams.send(sample)
    index = MessageIndex(streams, path, contract=contract)
    index.catch_up()
    index.close()
    if damage == "gone":
        path.unlink()
    elif damage == "garbage":
        path.write_bytes(b"this is no database at all, and long enough to be noticed" * 100)
    else:
        with sqlite3.connect(path) as db:
            db.execute("PRAGMA user_version = 99")
        db.close()

    again = MessageIndex(streams, path, contract=contract)
    again.catch_up()
    assert [row.message_id for row in again.page().messages] == [sample.key]
    again.close()


def test_catching_up_stops_when_its_time_is_over(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker
) -> None:
    """Whoever asks waits for a slice, not for a million messages; the rest comes with the next question."""
    index = any_index
    streams.send(*[samples.message()] * 3000)

    assert not index.catch_up(0)
    assert 0 < index.last < 3000
    while not index.catch_up(1):
        pass
    assert index.last == 3000


def test_a_stream_made_again_under_its_name_is_read_from_its_start(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker
) -> None:
    """What was in the stream before stays listed; what is in the new one is listed too."""
    one, other = samples.message(), samples.message()
    streams.send(one)
    any_index.catch_up()
    streams.records = {ShardKey("input", "0", "g2"): [StoredRecord("1", other.key, other.data, NOON + 5)]}
    any_index.catch_up()

    old, new = any_index.page().messages
    assert (old.message_id, new.message_id) == (one.key, other.key)
    assert any_index.data(old) is None
    assert any_index.data(new) == other.data


def test_clearing_begins_at_1_again(
    streams: FakeStreams, any_index: MessageIndex, samples: SampleMaker
) -> None:
    """After a reset the first message has the id 1, and no filter remembers what was."""
    one, other = samples.message(), samples.message()
    streams.send(one)
    any_index.catch_up()
    assert any_index.page(f"id:{one.key}").total == 1
    streams.records.clear()
    any_index.clear()
    assert any_index.page(f"id:{one.key}").total == 0

    streams.send(other)
    any_index.catch_up()
    assert [(row.id, row.message_id) for row in any_index.page().messages] == [(1, other.key)]


def test_a_record_without_a_partition_key_is_a_row_like_any_other(
    streams: FakeStreams, any_index: MessageIndex
) -> None:
    """Its key is empty."""
    streams.records[ShardKey("input", "0", "g1")] = [StoredRecord("1", None, b"x", NOON)]
    any_index.catch_up()

    assert [row.partition_key for row in any_index.page().messages] == [""]


def test_an_identifier_is_found_by_the_index(
    streams: FakeStreams, any_index: MessageIndex, contract: Contract
) -> None:
    """``id:`` asks for one row and not for a look at all of them, in whatever case it is written."""
    for name in ("AB-1", "ab-2", "ab-10"):
        streams.put("input", message(name) if contract is RDSS else b"{}", key=name)
    any_index.catch_up()
    for text, found in (
        ("id:ab-2", ["ab-2"]),
        ("id:AB-2,ab-1", ["AB-1", "ab-2"]),
        ("id:ab-1*", ["AB-1", "ab-10"]),
    ):
        assert [row.message_id for row in any_index.page(text).messages] == found
    condition = compile_filter("id:ab-2", list_columns(contract.fields))
    plan = any_index._db.execute(
        f"EXPLAIN QUERY PLAN SELECT id FROM message WHERE id > 0 AND ({condition.sql})", condition.parameters
    ).fetchall()
    assert "message_by_id" in str(plan)


def test_a_sequence_says_when_its_parts_expire(streams: FakeStreams, index: MessageIndex) -> None:
    """The earliest expirationTimestamp of its parts is when it is too late for the others."""
    for position, minute in ((1, "09"), (2, "05")):
        part = {"sequence": "s-1", "position": position, "total": 3}
        timings = {"expirationTimestamp": f"2026-11-21T08:{minute}:00Z"}
        header = {"messageId": f"p-{position}", "messageSequence": part, "messageTimings": timings}
        streams.put("input", msgspec.json.encode({"messageHeader": header, "messageBody": ""}))
    index.catch_up()
    (sequence,) = index.sequences().sequences
    assert sequence.expires == NOON + 300


def test_parts_that_share_a_message_id_are_no_duplicates_and_told_of_once(streams: FakeStreams) -> None:
    """A part is known by its sequence and position, in one slice or many; a repeated one is a duplicate."""
    told: list[dict[str, object]] = []
    index = MessageIndex(
        streams, contract=RDSS, found=lambda kind, **fields: told.append({"kind": kind, **fields})
    )
    for position in (1, 2, 3, 2):
        place = {"sequence": "s-1", "position": position, "total": 3}
        streams.put("input", message("m-1", messageSequence=place))
        if position == 2:
            index.catch_up()
    index.catch_up()
    rows = index.page().messages
    assert [row.marks for row in rows] == [(), (), (), ("duplicate",)]
    ((said),) = told
    assert (said["kind"], said["sequence"], said["message_id"], said["stream"]) == (
        "sequence.shared_message_id", "s-1", "m-1", "input",
    )  # fmt: skip
    index.close()


@pytest.mark.parametrize("position", [2**70, -(2**70), 0])
def test_a_part_at_a_position_that_no_store_holds_is_indexed(
    streams: FakeStreams, index: MessageIndex, position: int
) -> None:
    """Whatever number a header claims, the message has its row."""
    for _ in range(2):
        place = {"sequence": "s-1", "position": position, "total": 2**71}
        streams.put("input", message("m-1", messageSequence=place))
        index.catch_up()
    assert len(index.page().messages) == 2
