"""Each stage on a real Spark session, by itself."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.rng import Chance
from sandbox.pipeline.stages import deduplication, minute_figures, objects, reconciliation, table_choice
from sandbox.pipeline.stages.object_versions import find_components
from sandbox.pipeline.stages.parsing import RECORDS, build_judge
from sandbox.pipeline.storage.schema import COLUMNS, LATENCY_BOUNDS, arrow_schema
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.versions import Knowledge, compute_version_states

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark
NOW = datetime(2026, 11, 21, 8, tzinfo=UTC)


def _at(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)


def test_every_record_is_judged_into_one_row(spark: SparkSession) -> None:
    """Good, bad and empty records come out of the parsing stage one for one, with their place."""
    good = serialise(Samples(1, now=NOW.timestamp()).message("MetadataDelete"))
    rows = [
        (data, "key", "input", "shard-0", str(n), _at(n)) for n, data in enumerate([good, b"{", b"", None])
    ]
    judged = spark.createDataFrame(rows, RECORDS).mapInArrow(build_judge(()), COLUMNS["arrivals"])
    found = judged.orderBy("sequence_number").collect()
    assert [row.code for row in found] == [None, "GENERR007", "GENERR007", "GENERR007"]
    assert [row.sequence_number for row in found] == ["0", "1", "2", "3"]
    assert bytes(found[0].data) == good
    assert found[1].arrived.astimezone(UTC) == _at(1)


def _table(columns: str, rows: list[tuple[Any, ...]]) -> pa.Table:
    schema = arrow_schema(columns)
    return pa.Table.from_pylist([dict(zip(schema.names, row, strict=True)) for row in rows], schema=schema)


def test_only_the_first_arrival_is_no_duplicate() -> None:
    """The earliest arrival counts, also across batches; another stream, or a bad copy, is something else."""
    columns = "stream STRING, identity STRING, arrived TIMESTAMP, shard STRING, sequence_number STRING"
    rows = _table(
        columns,
        [
            ("input", "message a", _at(2), "s", "30"),
            ("input", "message a", _at(1), "s", "4"),
            ("input", "reject a", _at(0), "s", "1"),
            ("output", "message a", _at(3), "s", "5"),
            ("input", "message b", _at(4), "s", "6"),
            ("input", "message c", _at(5), "s", "10"),
            ("input", "message c", _at(5), "s", "9"),
        ],
    )
    seen = _table(
        "stream STRING, identity STRING", [("input", "message b"), ("input", "message b"), ("input", "z")]
    )
    found = deduplication.mark_duplicates(rows, seen).to_pylist()
    assert dict(zip(rows["sequence_number"].to_pylist(), found, strict=True)) == {
        "4": False, "30": True, "1": False, "5": False, "6": True, "9": False, "10": True,
    }  # fmt: skip


def test_each_row_has_one_table() -> None:
    """Duplicates, what receivers queued, rejects, parts and messages part ways."""
    rows = _table(
        "stream STRING, duplicate BOOLEAN, code STRING, total INT",
        [
            ("input", False, None, 1),
            ("input", False, None, 3),
            ("input", False, "GENERR001", None),
            ("error", False, "GENERR001", 1),
            ("error", True, None, 1),
            ("input", False, None, None),
        ],
    )
    found = table_choice.choose_tables(rows, ["error"])["table"].to_pylist()
    assert found == ["messages", "parts", "rejects", "queued", "duplicates", "messages"]


_EVENTS = [
    # uuid, type, published at, title, replaces
    ("a", "MetadataCreate", 1, "a1", None),
    ("a", "MetadataUpdate", 5, "a5", None),
    ("a", "MetadataUpdate", 3, "a3", None),
    ("b", "MetadataCreate", 2, "b2", "a"),
    ("c", "MetadataCreate", 3, "c3", "b"),
    ("c", "PreservationEvent", 9, None, None),
    ("d", "MetadataCreate", 1, "d1", "gone"),
    ("d", "MetadataDelete", 4, None, None),
    ("d", "MetadataUpdate", 3, "d3", "gone"),
    ("e", "MetadataDelete", 4, None, None),
    ("e", "MetadataCreate", 6, "e6", None),
    ("f", "MetadataRead", 6, None, None),
]


def _changes(spark: SparkSession, events: list[tuple[Any, ...]]) -> Any:
    columns = [c for c in f"{COLUMNS['messages']}".split(", ") if c.split()[0] in objects.CHANGE]
    rows = [
        {"object_uuid": uuid, "message_type": kind, "published": _at(at), "arrived": _at(at), "title": title,
         "replaces": replaces, "tenant": 7, "message_id": f"{uuid}{at}", "resource_type": "dataset"}
        for uuid, kind, at, title, replaces in events
    ]  # fmt: skip
    return spark.createDataFrame(rows, ", ".join(columns))


def test_the_current_state_does_not_depend_on_the_order_of_messages(spark: SparkSession) -> None:
    """Late updates, deletes and versions end in the same state in one batch, in two, or repeated."""
    nothing = spark.createDataFrame([], COLUMNS["objects"])
    at_once = objects.merge_objects(nothing, _changes(spark, _EVENTS))
    split = objects.merge_objects(
        objects.merge_objects(nothing, _changes(spark, _EVENTS[::-2])), _changes(spark, _EVENTS)
    )
    found = {row.object_uuid: row for row in at_once.collect()}
    assert found == {row.object_uuid: row for row in split.collect()}
    assert {u: row.title for u, row in found.items()} == {
        "a": "a5", "b": "b2", "c": "c3", "d": "d3", "e": "e6",
    }  # fmt: skip
    assert {u for u, row in found.items() if row.deleted} == {"d"}
    assert {u: (row.first_version, row.version, row.replaced_by) for u, row in found.items()} == {
        "a": ("a", 1, "b"), "b": ("a", 2, "c"), "c": ("a", 3, None), "d": ("gone", 2, None),
        "e": ("e", 1, None),
    }  # fmt: skip
    assert found["c"].preserved.astimezone(UTC) == _at(9)


_VERSIONS = [
    # uuid, type, published at, previous, following
    ("a", "MetadataCreate", 1, None, None),
    ("b", "MetadataUpdate", 2, ["a"], None),
    ("c", "MetadataUpdate", 3, ["b"], None),
    ("b", "MetadataCreate", 9, None, ["c"]),
    ("d", "MetadataCreate", 9, None, ["e"]),
    ("f", "MetadataUpdate", 4, ["e"], None),
    ("g", "MetadataUpdate", 5, ["e", "a2"], None),
    ("h", "MetadataCreate", 1, ["h"], ["i"]),
    ("i", "MetadataCreate", 2, None, ["h"]),
    ("j", "MetadataCreate", 1, None, None),
    ("k", "MetadataUpdate", 2, ["j"], None),
    ("j", "MetadataDelete", 3, None, None),
    ("j", "MetadataCreate", 8, None, ["k"]),
    ("l", "MetadataCreate", 1, None, None),
]


@pytest.mark.parametrize("seed", [1, 2])
def test_versions_end_the_same_in_any_order(spark: SparkSession, seed: int) -> None:
    """Published again, with gaps, in circles, twice, in two batches: as the rule of the contract has it."""
    draws = Chance(seed).draws("versions")
    columns = [c for c in COLUMNS["messages"].split(", ") if c.split()[0] in objects.CHANGE]
    order = [*range(len(_VERSIONS)), *(draws.randrange(len(_VERSIONS)) for _ in range(6))]
    draws.shuffle(order)
    rows = [
        {"object_uuid": uuid, "message_type": kind, "published": _at(at), "arrived": _at(place), "tenant": 7,
         "previous": previous, "following": following}
        for place, (uuid, kind, at, previous, following) in enumerate(_VERSIONS[each] for each in order)
    ]  # fmt: skip
    half = len(rows) // 2
    state = spark.createDataFrame([], COLUMNS["objects"])
    for some in (rows[:half], rows[half:]):
        state = objects.merge_objects(state, spark.createDataFrame(some, ", ".join(columns)))
    found = {row.object_uuid: row for row in state.collect()}
    expected = compute_version_states(_told())
    assert {u: (r.first_version, r.version, r.replaced_by, r.deleted) for u, r in found.items()} == {
        u: (p.first, p.number, p.replaced_by, p.deleted) for u, p in expected.items()
    }
    assert sorted(u for u, row in found.items() if row.replaced_by is None) == ["c", "g", "i", "k", "l"]
    assert sorted(u for u, row in found.items() if row.deleted) == ["j", "k"]


def _told() -> list[Knowledge]:
    known: dict[str, Knowledge] = {}
    for uuid, kind, at, previous, following in _VERSIONS:
        told = known.get(uuid, Knowledge(uuid))
        when = {"deleted" if kind == "MetadataDelete" else "published": _at(at).timestamp()}
        known[uuid] = told._replace(
            previous=[*told.previous, *(previous or ())],
            following=[*told.following, *(following or ())],
            **{name: max(moment, getattr(told, name) or moment) for name, moment in when.items()},
        )
    return list(known.values())


@given(st.lists(st.tuples(st.integers(0, 15), st.integers(0, 15)), min_size=1, max_size=30))
def test_what_is_connected_comes_together(pairs: list[tuple[int, int]]) -> None:
    """Every node has a number, and two have the same exactly if a way leads from one to the other."""
    import pyarrow as pa

    one, other = zip(*pairs, strict=True)
    table = find_components(
        pa.table({"one": pa.array(one, pa.int64()), "other": pa.array(other, pa.int64())})
    )
    works = dict(zip(table["node"].to_pylist(), table["work"].to_pylist(), strict=True))
    groups = [{node} for node in works]
    for pair in pairs:
        touched = [group for group in groups if group & {*pair}]
        groups = [group for group in groups if not group & {*pair}] + [set().union(*touched)]
    assert works.keys() == {*one, *other}
    assert all(len({works[node] for node in group}) == 1 for group in groups)
    assert len({*works.values()}) == len(groups)


def test_figures_count_by_minute_tenant_and_outcome() -> None:
    """Messages, bytes and latency of a minute, in numbers that any engine reads."""
    columns = "arrived TIMESTAMP, published TIMESTAMP, stream STRING, tenant BIGINT, code STRING, size INT"
    columns += ", table STRING"
    rows = [(_at(n), _at(n - n / 1000), "input", 7, None, 10, "messages") for n in range(60)]
    rows += [(_at(61), None, "input", None, "GENERR007", 3, "rejects")]
    found = minute_figures.count_figures(_table(columns, rows)).to_pylist()
    good, bad = sorted(found, key=lambda row: str(row["outcome"]))
    assert [good[name] for name in ("messages", "bytes", "latency_max", "latency_sum")] == [60, 600, 59, 1770]
    latency = [good[f"latency_{name}"] for name in ("count", "p50", "p95", "p99")]
    assert latency == [60, 29, 56, 59]
    assert good["latency_histogram"][:7] == [2, 1, 3, 5, 10, 30, 9], "up to 1, 2, 5, 10, 20, 50, 100 ms"
    assert len(good["latency_histogram"]) == len(LATENCY_BOUNDS) + 1
    assert (bad["messages"], bad["code"], bad["tenant"], bad["latency_p50"]) == (1, "GENERR007", None, None)
    assert (bad["latency_count"], sum(bad["latency_histogram"])) == (0, 0)
    assert bad["minute"] == _at(60)


def test_reconciliation_says_what_is_missing_where(spark: SparkSession) -> None:
    """A record lacking anywhere is named with the place that lacks it, and strangers are counted."""

    def frame(*places: tuple[str, str]) -> Any:
        rows = [("input", "s", number, message) for number, message in places]
        return spark.createDataFrame(rows, reconciliation.PLACES)

    dispatched = frame(("1", "a"), ("2", "b"), ("3", "c"), ("4", "d"))
    audited = frame(("1", "a"), ("2", "b"), ("4", "d"), ("9", "z"))
    from pyspark.sql import functions as F  # noqa: N812

    tables = frame(("1", "a"), ("3", "c"), ("4", "d")).withColumn(
        "outcome", F.when(F.col("message_id") == "d", "rejects").otherwise("messages")
    )
    received = spark.createDataFrame([("a",)], "message_id STRING")
    found = reconciliation.summarise(reconciliation.compare_places(dispatched, audited, tables, received))
    assert not found.exact
    assert (found.dispatched, found.audited, found.in_tables, found.received) == (4, 4, 3, 1)
    assert found.missing_from == {"audit log": 1, "tables": 1, "receiver": 1}
    assert found.strangers == {"audit log": 1, "tables": 0}
    assert [(m.message_id, m.missing_from) for m in found.missing] == [
        ("b", ("tables",)),
        ("c", ("audit log", "receiver")),
    ]
    assert reconciliation.summarise(
        reconciliation.compare_places(
            dispatched, dispatched, dispatched.withColumn("outcome", F.lit("parts"))
        )
    ).exact
