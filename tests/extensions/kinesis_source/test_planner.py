"""The planner of the ``kinesis`` source over a model of shards."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from extensions.kinesis_source.kinesis_client import (
    KinesisClient,
    ListedShard,
    MarkPage,
    ReadRecord,
    RecordMark,
)
from extensions.kinesis_source.options import ReadOptions
from extensions.kinesis_source.planner import Planner, ShardRange
from extensions.kinesis_source.source import read_range
from extensions.kinesis_source.source_errors import DataLossError, KinesisSourceError, ServiceError


@dataclass
class ModelShard:
    parents: tuple[str, ...] = ()
    open: bool = True
    records: list[int] = field(default_factory=list)
    trimmed: int = 0


class ModelStream:
    """Shards in memory with the client's methods; an iterator is ``shard|index`` and expires when told to.

    Record n arrived n seconds after the epoch.
    """

    def __init__(self) -> None:
        self.shards: dict[str, ModelShard] = {"shard-0": ModelShard()}
        self.next = 1
        self.expire_next = self.redelivers = False
        self.page_size, self.record_size, self.fetched = 3, 100, 0
        self.iterators = 0
        self.failures = 0

    @property
    def server_time(self) -> float:
        return float(self.next)

    def put(self, shard: str, count: int) -> None:
        for _ in range(count):
            self.shards[shard].records.append(self.next)
            self.next += 1

    def split(self, shard: str) -> list[str]:
        self.shards[shard].open = False
        names = [f"shard-{len(self.shards) + at}" for at in (0, 1)]
        self.shards |= {name: ModelShard((shard,)) for name in names}
        return names

    def merge(self, one: str, other: str) -> str:
        self.shards[one].open = self.shards[other].open = False
        name = f"shard-{len(self.shards)}"
        self.shards[name] = ModelShard((one, other))
        return name

    def open_shards(self) -> list[str]:
        return [name for name, shard in self.shards.items() if shard.open]

    def list_shards(self) -> list[ListedShard]:
        return [ListedShard(name, shard.parents, shard.open) for name, shard in self.shards.items()]

    def split_key(self, shard: str) -> tuple[str, str]:
        return "stream", shard

    def iterator(self, shard: str, position: str) -> str:
        self.iterators += 1
        records = self.shards[shard].records
        behind = int(position) if position.isdigit() else 0
        if position.startswith("AT_TIMESTAMP "):
            behind = math.ceil(float(position.partition(" ")[2])) - 1
        start = next((i for i, n in enumerate(records) if n > behind), len(records))
        return f"{shard}|{max(start, self.shards[shard].trimmed)}"

    def holds(self, shard: str, sequence_number: str) -> bool:
        kept = self.shards[shard].records[self.shards[shard].trimmed :]
        return int(sequence_number) in kept

    def page(self, iterator: str, limit: int, kind: Any) -> tuple[Any, int]:
        if self.failures:
            self.failures -= 1
            raise ServiceError("KMSDisabledException", "not now", 400)
        if self.expire_next:
            self.expire_next = False
            raise ServiceError("ExpiredIteratorException", "too old", 400)
        name, _, start = iterator.partition("|")
        shard = self.shards[name]
        end = min(int(start) + min(limit, self.page_size), len(shard.records))
        found = shard.records[int(start) : end]
        if self.redelivers:
            earlier = shard.records[: int(start)]
            found = found[:1] + found + earlier[:2] + earlier[-3:-2]
        done = end == len(shard.records)
        following = None if done and not shard.open else f"{name}|{end}"
        records: list[Any] = (
            [RecordMark(str(n), float(n)) for n in found]
            if kind is MarkPage
            else [ReadRecord(str(n), str(n).encode(), "key", float(n)) for n in found]
        )
        self.fetched += len(records)
        behind = 0 if done else 1000 * (shard.records[-1] - shard.records[end - 1])
        page = kind(millis_behind_latest=behind, next_shard_iterator=following, records=records)
        return page, self.record_size * len(found)


def _settings(**more: str) -> ReadOptions:
    return ReadOptions.of({"streamName": "stream", "region": "r", "endpointUrl": "http://x", **more})


def _read(stream: ModelStream, part: ShardRange, settings: ReadOptions | None = None) -> list[int]:
    batches = read_range(settings or _settings(), stream, part)  # type: ignore[arg-type]
    return [int(data) for batch in batches for data in batch.column("data").to_pylist()]


class Reading(RuleBasedStateMachine):
    """A stream that is written, split and merged while it is read in batches and the reader is restarted."""

    def __init__(self) -> None:
        super().__init__()
        self.stream = ModelStream()
        self.planner = _planner(self.stream)
        self.offset = self.planner.first("TRIM_HORIZON")
        self.read: set[tuple[int, str]] = set()

    def _chosen(self, number: int) -> str:
        shards = self.stream.open_shards()
        return shards[number % len(shards)]

    @rule(number=st.integers(0, 9), count=st.integers(1, 12))
    def put(self, number: int, count: int) -> None:
        self.stream.put(self._chosen(number), count)

    @rule(number=st.integers(0, 9))
    def split(self, number: int) -> None:
        self.stream.split(self._chosen(number))

    @rule(number=st.integers(0, 9))
    def merge(self, number: int) -> None:
        one, other = self._chosen(number), self._chosen(number + 1)
        if one != other:
            self.stream.merge(one, other)

    @rule()
    def restart(self) -> None:
        self.planner = _planner(self.stream)

    @rule()
    def expire(self) -> None:
        self.stream.expire_next = True

    @rule(limit=st.one_of(st.none(), st.integers(1, 9)))
    def batch(self, limit: int | None) -> None:
        end = self.planner.end(self.offset, limit, None)
        ranges = self.planner.ranges(self.offset, end)
        found = {(n, part.shard) for part in ranges for n in _read(self.stream, part)}
        # A batch that is planned anew after a crash, without the walk's memory, reads the same records.
        again = _planner(self.stream).ranges(self.offset, end)
        assert found == {(n, part.shard) for part in again for n in _read(self.stream, part)}
        assert not found & self.read
        for shard in {shard for _, shard in found}:
            for parent in self.stream.shards[shard].parents:
                assert {(n, parent) for n in self.stream.shards[parent].records} <= self.read
        self.read |= found
        self.offset = end

    def teardown(self) -> None:
        before: dict[str, str] = {}
        while before != self.offset:
            before = self.offset
            self.batch(None)
        assert sorted(n for n, _ in self.read) == list(range(1, self.stream.next))
        ended = {name for name, shard in self.stream.shards.items() if not shard.open}
        assert not ended & set(self.offset)


class TestReading(Reading.TestCase):  # type: ignore[misc, name-defined]
    """Every record is read once, parents' before children's, and ended shards are forgotten."""

    settings = settings(max_examples=60, stateful_step_count=30)


def _planner(stream: ModelStream, glance: int = 4, **options: str) -> Planner:
    return Planner(_settings(**options), stream, glance=glance)  # type: ignore[arg-type]


def test_a_stream_that_reads_on_while_shards_catch_up_ends_once() -> None:
    """``availableNow`` stops where each shard was caught up with, though producers go on."""
    stream = ModelStream()
    stream.put("shard-0", 5)
    planner = _planner(stream)
    planner.stop_when_caught_up = True
    offset = planner.end(planner.first("TRIM_HORIZON"), None, None)
    stream.put("shard-0", 5)
    assert planner.end(offset, None, None) == offset == {"shard-0": "5"}


def test_latest_waits_at_an_idle_shard_from_the_moment_it_began() -> None:
    """LATEST is fixed at the start: what comes to an idle shard afterwards is not skipped."""
    stream = ModelStream()
    children = stream.split("shard-0")
    planner = _planner(stream)
    offset = planner.first("LATEST")
    assert offset == dict.fromkeys(children, "AT_TIMESTAMP 1.0")
    stream.put(children[0], 1)
    assert planner.end(offset, None, None)[children[0]] == "1"


def test_a_limit_of_records_is_kept() -> None:
    """A trigger takes no more records than it may, spread over the shards."""
    stream = ModelStream()
    for child in stream.split("shard-0"):
        stream.put(child, 50)
    planner = _planner(stream)
    start = planner.end(planner.first("TRIM_HORIZON"), 20, None)
    end = planner.end(start, 20, None)
    assert sum(part.records or 0 for part in planner.ranges(start, end)) == 20


def test_a_long_range_is_cut_into_partitions() -> None:
    """One busy shard keeps more than one core busy, whether its records are counted or passed over."""
    stream = ModelStream()
    stream.put("shard-0", 30)
    planner = _planner(stream, recordsPerPartition="9")
    start = planner.first("TRIM_HORIZON")
    ranges = planner.ranges(start, planner.end(start, 1000, None))
    assert [part.records for part in ranges] == [9, 9, 9, 3]
    stream.record_size = 8 * 1024 * 1024
    ranges = planner.ranges(start, planner.end(start, None, None))
    assert [part.records for part in ranges][:2] == [4, None]
    assert 4 < len(ranges) < 20
    assert [n for part in ranges for n in _read(stream, part)] == list(range(1, 31))


def test_small_ranges_are_read_by_one_task() -> None:
    """A task costs more than a small range: what several shards have of a small batch goes to one."""
    stream = ModelStream()
    for child in stream.split("shard-0"):
        stream.put(child, 20)
    planner = _planner(stream)
    start = planner.end(planner.first("TRIM_HORIZON"), 20, None)
    for size, tasks in ((100, 1), (60_000, 2)):
        stream.record_size = size
        end = planner.end(start, 20, None)
        found = planner.partitions(start, end)
        assert len(found) == tasks
        assert [part for task in found for part in task.ranges] == planner.ranges(start, end)


def test_the_next_batch_is_planned_while_spark_works_on_the_last() -> None:
    """What lies behind a limit is walked meanwhile, and a call that fails then is made again."""
    stream = ModelStream()
    stream.put("shard-0", 40)
    planner = _planner(stream)
    planner.stop_when_caught_up = True
    start = planner.first("TRIM_HORIZON")
    for number, failing in ((10, False), (20, True), (30, False)):
        stream.failures = int(failing)
        end = planner.end(start, 10, None)
        assert planner._ahead
        planner._ahead._thread.join()
        assert (end, stream.failures) == ({"shard-0": str(number)}, 0), "the walk ahead met the failure"
        assert stream.fetched == number + (0 if failing else 10)
        assert [part.records for part in planner.ranges(start, end)] == [10]
        start = end


def test_an_idle_shard_costs_one_call_a_step() -> None:
    """The iterator that a walk ends with is where the next one begins, until the service gives it up."""
    stream = ModelStream()
    stream.put("shard-0", 2)
    planner = _planner(stream)
    offset = planner.end(planner.first("TRIM_HORIZON"), 10, None)
    asked = stream.iterators
    for _ in range(3):
        assert planner.end(offset, 10, None) == offset
    assert stream.iterators == asked
    stream.put("shard-0", 1)
    stream.expire_next = True
    assert planner.end(offset, 10, None) == {"shard-0": "3"}


def test_credentials_that_expired_are_looked_up_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client lives as long as its process, and credentials do not."""
    used: list[str] = []

    def send(client: KinesisClient, _operation: str, _request: dict[str, Any]) -> bytes:
        used.append(client._credentials.access_key)
        if used[-1] == "old":
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", "new")
            raise ServiceError("ExpiredTokenException", "the security token has expired", 400)
        return b"{}"

    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "old")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret")
    monkeypatch.setattr(KinesisClient, "_send", send)
    assert KinesisClient(_settings()).call("GetRecords", {}) == b"{}"
    assert used == ["old", "new"]


@pytest.mark.parametrize("tolerant", [False, True])
def test_expired_records_stop_a_restart_unless_told_otherwise(tolerant: bool) -> None:
    """Records that expired behind a checkpoint are an error, unless failOnDataLoss is false."""
    stream = ModelStream()
    stream.put("shard-0", 9)
    stream.shards["shard-0"].trimmed = 6
    planner = _planner(stream, failOnDataLoss=str(not tolerant))
    if tolerant:
        assert planner.end({"shard-0": "2"}, None, None) == {"shard-0": "9"}
    else:
        with pytest.raises(DataLossError, match="record 2 of shard shard-0 has expired"):
            planner.end({"shard-0": "2"}, None, None)


def test_a_shard_that_is_gone_is_data_loss() -> None:
    """A checkpoint that names a shard which no longer exists stops the run with that shard's name."""
    with pytest.raises(DataLossError, match="shard shard-7 is gone"):
        _planner(ModelStream()).end({"shard-7": "3"}, None, None)


def test_what_the_service_delivers_again_is_read_once() -> None:
    """Records that come twice, at once or much later, are one record each, and no loss of data."""
    stream = ModelStream()
    stream.put("shard-0", 10)
    stream.redelivers = True
    for limit in (None, 1000):
        planner = _planner(stream, recordsPerPartition="4")
        start = planner.first("TRIM_HORIZON")
        end = planner.end(start, limit, None)
        assert end == {"shard-0": "10"}
        ranges = planner.ranges(start, end)
        assert len(ranges) > 1
        assert [n for part in ranges for n in _read(stream, part)] == list(range(1, 11))


def test_the_end_of_a_long_shard_is_found_without_reading_it() -> None:
    """A hundred thousand records, a closed or an idle shard: the driver looks at a few hundred of them."""
    stream = ModelStream()
    stream.page_size = 50
    stream.put("shard-0", 100_000)
    child, idle = stream.split("shard-0")
    stream.put(child, 50_000)
    stream.put(idle, 7)
    stream.next += 3_000_000
    planner = _planner(stream, glance=50)
    start = planner.first("TRIM_HORIZON")
    parent = planner.end(start, None, None)
    end = planner.end(parent, None, None)
    assert (parent, end) == ({"shard-0": "SHARD_END"}, {child: "150000", idle: "150007"})
    assert stream.fetched < 5000
    ranges = [*planner.ranges(start, parent), *_planner(stream).ranges(parent, end)]
    assert sorted(n for part in ranges for n in _read(stream, part)) == list(range(1, 150_008))


@pytest.mark.parametrize("tolerant", [False, True])
def test_records_that_expire_between_planning_and_reading_are_data_loss(tolerant: bool) -> None:
    """Also where nobody counted them: the one before them is gone too."""
    stream = ModelStream()
    stream.put("shard-0", 30)
    planner = _planner(stream, failOnDataLoss=str(not tolerant))
    start = planner.first("TRIM_HORIZON")
    *_, last = planner.ranges(start, planner.end(start, None, None))
    assert last == ShardRange("shard-0", "4", "30")
    stream.shards["shard-0"].trimmed = 9
    if tolerant:
        assert _read(stream, last, _settings(failOnDataLoss="false")) == list(range(10, 31))
    else:
        with pytest.raises(DataLossError, match="record 4 of shard shard-0 has expired"):
            _read(stream, last)


def test_a_range_that_gives_fewer_records_than_planned_is_data_loss() -> None:
    """An executor that finds fewer records than the driver counted does not pass them over."""
    stream = ModelStream()
    stream.put("shard-0", 4)
    with pytest.raises(DataLossError, match="gave 4 of 5 records"):
        _read(stream, ShardRange("shard-0", "TRIM_HORIZON", "4", 5))
    with pytest.raises(DataLossError, match="behind 4 up to 6"):
        _read(stream, ShardRange("shard-0", "4", "6"))
    assert _read(stream, ShardRange("shard-0", "4", "6"), _settings(failOnDataLoss="false")) == []


def test_a_child_of_two_waits_for_both() -> None:
    """The child of a merge is not read while one of its parents still has records."""
    stream = ModelStream()
    one, other = stream.split("shard-0")
    stream.put(one, 1)
    stream.put(other, 8)
    child = stream.merge(one, other)
    stream.put(child, 1)
    planner = _planner(stream, maxFetchRecordsPerShard="2")
    offset, seen = planner.first("TRIM_HORIZON"), list[str]()
    for _ in range(9):
        end = planner.end(offset, None, None)
        seen += [part.shard for part in planner.ranges(offset, end)]
        offset = end
    assert seen[-1] == child
    assert seen.count(child) == 1


def test_positions_as_the_field_writes_them() -> None:
    """LATEST, TRIM_HORIZON, EARLIEST, AT_TIMESTAMP and JSON are taken; anything else is explained."""
    planner = _planner(ModelStream())
    assert planner.first("earliest") == planner.first("TRIM_HORIZON") == {"shard-0": "TRIM_HORIZON"}
    assert planner.first("AT_TIMESTAMP 1970-01-01T00:01:00Z") == {"shard-0": "AT_TIMESTAMP 60.0"}
    assert planner.first('{"shard-0": "17"}') == {"shard-0": "17"}
    with pytest.raises(KinesisSourceError, match="startingPosition is 'yesterday'"):
        planner.first("yesterday")
    with pytest.raises(KinesisSourceError, match="no RFC 3339 time"):
        planner.first("AT_TIMESTAMP noon")


def test_aws_itself_is_meant_where_no_endpoint_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    """The region of the environment says which."""
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.delenv("AWS_ENDPOINT_URL_KINESIS", raising=False)
    monkeypatch.setenv("AWS_REGION", "eu-west-2")
    assert ReadOptions.of({"streamName": "input"}).endpoint_url == "https://kinesis.eu-west-2.amazonaws.com"


def test_options_in_any_case_with_or_without_their_prefix() -> None:
    """Options are found however the field writes them, and a wrong one is named with what would do."""
    options = {"KINESIS.STREAMNAME": "a, b", "kinesis.endpointUrl": "http://y", "initialposition": "LATEST"}
    chosen = ReadOptions.of(options | {"Region": "eu-west-2", "failondataloss": "FALSE"})
    assert (chosen.streams, chosen.endpoint_url, chosen.region) == (("a", "b"), "http://y", "eu-west-2")
    assert chosen.starting_position == "LATEST"
    assert not chosen.fail_on_data_loss
    for wrong, said in (
        ({}, "streamName is missing"),
        ({"streamName": "a", "strmName": "b"}, "unknown option 'strmname'; known: streamName"),
        (
            {"streamName": "a", "maxRecordsPerTrigger": "0"},
            "maxrecordspertrigger is '0', but must be a whole number",
        ),
        ({"streamName": "a", "failOnDataLoss": "maybe"}, "must be true or false"),
    ):
        with pytest.raises(KinesisSourceError, match=said):
            ReadOptions.of(wrong)
