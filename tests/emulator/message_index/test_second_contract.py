"""The index keeps what a contract declares, and nothing of another one."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import msgspec
import pytest

from emulator.message_index.index import MessageIndex
from rdss_sandbox.questions.message_filter import FilterError
from schemas.rdss.contract import RDSS
from tests.emulator.message_index.test_index import NOON, FakeStreams
from tests.parcels import PARCELS


@pytest.fixture
def index() -> Iterator[MessageIndex]:
    """Two parcels, one of them twice, a refused one, and one that is no JSON."""
    streams = FakeStreams()
    arrivals = (
        ("input", "p-1", b'{"event": "left", "depot": "Leith"}'),
        ("input", "p-2", b'{"event": "came", "depot": "Fife"}'),
        ("input", "p-1", b'{"event": "left", "depot": "Leith"}'),
        ("invalid", "p-3", b'{"depot": "Fife", "refused": "no-event"}'),
        ("input", "p-4", b"parcel"),
    )
    for second, (stream, key, data) in enumerate(arrivals):
        streams.put(stream, data, key=key, at=NOON + second)
    made = MessageIndex(streams, contract=PARCELS)
    assert made.catch_up(10)
    yield made
    made.close()


def test_a_row_has_the_labels_of_its_contract_alone(index: MessageIndex) -> None:
    """The id is the record's key; the label has its own name, and RDSS's labels are not there."""
    row = msgspec.json.decode(msgspec.json.encode(index.page().messages[0]))
    assert (row["message_id"], row["message_type"], row["labels"]) == ("p-1", "left", {"depot": "Leith"})
    assert row.keys().isdisjoint({"tenant", "message_class", "version"})


def test_a_row_of_rdss_is_as_it_always_was() -> None:
    """Its labels stand beside the other fields, null where the header lacks them, and there are no others."""
    streams = FakeStreams()
    streams.put("input", b'{"messageHeader": {"tenantJiscID": 12, "version": "4.0.0"}, "messageBody": {}}')
    index = MessageIndex(streams, contract=RDSS)
    index.catch_up(10)
    row = msgspec.json.decode(msgspec.json.encode(index.page().messages[0]))
    index.close()
    assert set(row) == {
        "id", "time", "stream", "shard", "sequence_number", "partition_key", "message_id", "message_type",
        "message_class", "sequence", "position", "total", "size", "code", "tenant", "version", "marks",
    }  # fmt: skip
    assert (row["message_class"], row["tenant"], row["version"]) == (None, 12, "4.0.0")


@pytest.mark.parametrize(
    ("text", "ids"),
    [
        ("depot:leith", [1, 3]),
        ("type:came", [2]),
        ("code:no-*", [4]),
        ("mark:duplicate", [3]),
        ("id:p-4 type:none", [5]),
        ("-depot:* stream:input", [5]),
        ("p-2", [2]),
    ],
)
def test_its_fields_can_be_filtered_by(index: MessageIndex, text: str, ids: list[int]) -> None:
    """A label and the fields that every contract has, as RDSS's are."""
    assert [row.id for row in index.page(text).messages] == ids


@pytest.mark.parametrize("name", ["tenant", "class", "version", "sequence", "total"])
def test_a_field_of_another_contract_is_unknown(index: MessageIndex, name: str) -> None:
    """The refusal lists the fields that there are."""
    with pytest.raises(FilterError, match=rf"no field '{name}'; there are id, type, code, depot, stream"):
        index.page(f"{name}:1")


def test_messages_are_counted_by_what_it_says(index: MessageIndex) -> None:
    """By the label too; what it does not count by is refused with what it does."""
    assert [(each.value, each.count) for each in index.counts("depot", "stream:input")] == [
        ("Leith", 2), (None, 1), ("Fife", 1),
    ]  # fmt: skip
    with pytest.raises(FilterError, match="there are type, code, depot, stream"):
        index.counts("id")
    assert index.sequences().total == 0


def test_an_index_of_another_contract_is_made_again(tmp_path: Path) -> None:
    """What was kept of other fields says nothing of these."""
    streams, path = FakeStreams(), tmp_path / "index.db"
    streams.put("input", b'{"event": "left", "depot": "Leith"}', key="p-1")
    for contract in (RDSS, PARCELS):
        index = MessageIndex(streams, path, contract=contract)
        index.catch_up(10)
        index.close()
    with closing(sqlite3.connect(path)) as db:
        assert db.execute("SELECT message_id, label_depot FROM message").fetchall() == [("p-1", "Leith")]
