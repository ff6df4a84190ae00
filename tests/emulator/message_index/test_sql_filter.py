"""The filter language: what each term lets through."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

from emulator.message_index.sql_filter import compile_filter, list_columns
from rdss_sandbox.questions.message_filter import MARKS, FilterError
from schemas.contract import Contract
from schemas.rdss.contract import RDSS
from tests.contracts import CONTRACTS, NAMES
from tests.parcels import PARCELS

OF_BOTH = pytest.mark.parametrize("contract", CONTRACTS, ids=NAMES)
_ROW = {
    "message_type": "MetadataCreate",
    "code": None,
    "stream": "input",
    "shard": "shardId-000000000001",
    "partition_key": "key 7_%",
    "message_id": "c677641b-c70e-4a7f-9807-ea20742c346e",
    "sequence_number": "49579524988800000000000000100000000000000011795249888614",
    "size": 500_001,
    "time": 1_790_000_000.5,
    "marks": 1 << MARKS.index("duplicate"),
}
ROWS = {
    RDSS.name: _ROW
    | {
        "label_message_class": "Command",
        "sequence": "570e54de-ddeb-47a9-b629-2a1ec2f85726",
        "label_tenant": 12,
        "label_version": "4.0.0",
        "position": 2,
        "total": 5,
    },
    PARCELS.name: _ROW | {"label_depot": "Leith"},
}
"""The same message with what each contract has of its own."""


def lets_through(text: str, contract: Contract) -> bool:
    condition, row = compile_filter(text, list_columns(contract.fields)), ROWS[contract.name]
    with sqlite3.connect(":memory:") as db:
        db.execute(f"CREATE TABLE message ({', '.join(row)})")
        db.execute(f"INSERT INTO message VALUES ({', '.join('?' * len(row))})", list(row.values()))
        found = db.execute(
            f"SELECT 1 FROM message WHERE {condition.sql or '1'}", condition.parameters
        ).fetchone()
    db.close()
    return found is not None


@OF_BOTH
@pytest.mark.parametrize(
    "text",
    [
        "",
        "   ",
        "type:MetadataCreate",
        "type:metadatacreate",
        "type:Metadata*",
        "type:*Create",
        "type:MetadataUpdate,MetadataCreate",
        "type:MetadataCreat?",
        "TYPE:MetadataCreate",
        "code:none",
        "-code:GENERR*",
        "stream:input type:Metadata*",
        "shard:*1",
        "size>500k",
        "size>=500001",
        "size<1M",
        "size>0.5M",
        "mark:duplicate",
        "mark:late,duplicate",
        "-mark:late",
        'key:"key 7_%"',
        '"key 7_"',
        "c677641b",
        "ea20742c346e",
        "id:C677641B-*",
        "time>2026-01-01",
        "time<2027-01-01T00:00:00Z",
        "time>=1790000000.5",
        "number>4957",
        "number>9",
        "number:495795*",
    ],
)
def test_a_term_that_holds_lets_the_message_through(text: str, contract: Contract) -> None:
    """Each of these is true of the message."""
    assert lets_through(text, contract)


@pytest.mark.parametrize(
    ("contract", "holds", "fails"),
    [
        (RDSS, "tenant:12", "tenant:1"),
        (RDSS, "position:2 total>2", "total<5"),
        (RDSS, "sequence:570e54de*", "sequence:none"),
        (RDSS, "class:command version:4.*", "-version:4.*"),
        (PARCELS, "depot:leith", "depot:Oban"),
    ],
)
def test_a_contract_has_terms_of_its_own(contract: Contract, holds: str, fails: str) -> None:
    """Those that its messages have and others have not."""
    assert lets_through(holds, contract)
    assert not lets_through(fails, contract)


@OF_BOTH
@pytest.mark.parametrize(
    "text",
    [
        "type:MetadataUpdate",
        "type:Metadata",
        "-type:Metadata*",
        "type:none",
        "code:GENERR001",
        "code:*",
        "stream:output",
        "stream:input stream:output",
        "size>501k",
        "size<500k",
        "mark:late",
        "mark:none",
        "-mark:duplicate",
        "key:key",
        "key:key?7x%",
        '"key 7x"',
        "unheard",
        "-c677641b",
        "time<2026-01-01",
        "number<4957",
    ],
)
def test_a_term_that_does_not_hold_keeps_the_message_back(text: str, contract: Contract) -> None:
    """Each of these is false of it; per cent and underscore are characters like any other."""
    assert not lets_through(text, contract)


@OF_BOTH
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("colour:blue", "no field 'colour'"),
        ("size>big", "must be a number"),
        ("size>1x", "must be a number"),
        ("size:", "needs a value|cannot read"),
        ("type>a", "has no order"),
        ("mark:pretty", "no mark 'pretty'"),
        ("time>yesterday", "is not a time"),
        ("number>x", "not a sequence number"),
        ('key:"open', "cannot read|quote"),
    ],
)
def test_a_filter_that_cannot_be_read_says_why(text: str, said: str, contract: Contract) -> None:
    """The term and what would do are in the message."""
    with pytest.raises(FilterError, match=said):
        compile_filter(text, list_columns(contract.fields))


@OF_BOTH
@pytest.mark.parametrize("text", ["'; DROP TABLE message; --", "type:' OR 1=1 --", 'id:") OR ("1"="1'])
def test_a_filter_is_never_taken_for_sql(text: str, contract: Contract) -> None:
    """Whatever is typed is compared with, not executed."""
    try:
        found = lets_through(text, contract)
    except FilterError:
        return
    assert not found


@pytest.mark.parametrize(
    "text", [" ".join(["-a"] * 4000), "word " * 201, f"type:{'a,' * 201}", "key:" + "*a" * 6000]
)
def test_a_filter_that_is_too_large_is_refused(text: str) -> None:
    """With the most that is taken, before SQLite finds its expression too deep."""
    with pytest.raises(FilterError, match=r"10000|200"):
        compile_filter(text, list_columns(RDSS.fields))


@pytest.mark.parametrize("text", ["word " * 200, "-word " * 200, f"type:{'a,' * 200}", "-number>1 " * 200])
def test_the_largest_filters_are_answered(text: str) -> None:
    condition = compile_filter(text, list_columns(RDSS.fields))
    with closing(sqlite3.connect(":memory:")) as db:
        db.execute("CREATE TABLE m (message_id, partition_key, message_type, sequence_number)")
        assert db.execute(f"SELECT * FROM m WHERE {condition.sql}", condition.parameters).fetchall() == []
