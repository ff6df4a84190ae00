"""The byte-level paths do what the full path does, or leave it to the full path."""

from __future__ import annotations

import base64
import json
import string
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.kinesis import KinesisError, NotFastError
from tests.emulator.kinesis.engine_calls import SCOPE, Api

KEYS = st.one_of(
    st.text(st.characters(exclude_categories=["Cs"]), max_size=300),
    st.sampled_from(["k", "é", "\n", '"', "\\"]),
)
HASH_KEYS = st.one_of(
    st.none(), st.integers(0, 2**128 + 1).map(str), st.sampled_from(["01", "-1", "1\n", "", "٣", "1" * 40])
)
ENTRIES = st.lists(
    st.fixed_dictionaries(
        {"Data": st.binary(max_size=40), "PartitionKey": KEYS}, optional={"ExplicitHashKey": HASH_KEYS}
    ),
    max_size=6,
)
NAMES = st.sampled_from(["s", "s", "s", "t", "", "no such name!", "x" * 129])


def encoded(entry: dict[str, Any]) -> dict[str, Any]:
    return entry | {"Data": base64.b64encode(entry["Data"]).decode()}


def attempt(call: Any) -> Any:
    try:
        return call()
    except KinesisError as error:
        return error.code, error.message


def engine_with_three_shards() -> Api:
    api = Api(None)
    api.create(shards=3)
    return api


@settings(max_examples=150)
@given(name=NAMES, entries=ENTRIES, ascii_only=st.booleans())
def test_put_records_is_the_same_on_both_paths(
    name: str, entries: list[dict[str, Any]], ascii_only: bool
) -> None:
    """What the fast path takes, it answers and stores exactly as the full path does."""
    fast, full = engine_with_three_shards(), engine_with_three_shards()
    body = {"StreamName": name, "Records": [encoded(entry) for entry in entries]}
    try:
        answer = json.loads(
            fast.engine.put_records_json(json.dumps(body, ensure_ascii=ascii_only).encode(), SCOPE)
        )
    except NotFastError:
        return

    request = [{k: v for k, v in entry.items() if v is not None} for entry in entries]
    assert answer == full("PutRecords", StreamName=name, Records=request)
    for shard in range(3):
        assert fast.get(fast.iterator(shard, "TRIM_HORIZON")) == full.get(
            full.iterator(shard, "TRIM_HORIZON")
        )


@settings(max_examples=60)
@given(st.lists(st.tuples(st.binary(max_size=40), KEYS.filter(lambda key: 0 < len(key) <= 256)), min_size=1))
def test_records_of_the_sandboxs_own_are_stored_as_a_clients_are(records: list[tuple[bytes, str]]) -> None:
    """``put`` judges nothing and answers nothing, and a reader cannot tell."""
    own, full = Api(None), Api(None)
    for api in (own, full):
        api.create(shards=1)
    own.engine.put("s", records, SCOPE)
    full("PutRecords", StreamName="s", Records=[{"Data": data, "PartitionKey": key} for data, key in records])
    assert own.get(own.iterator(0, "TRIM_HORIZON")) == full.get(full.iterator(0, "TRIM_HORIZON"))


@settings(max_examples=60)
@given(entry=ENTRIES.filter(bool).map(lambda entries: entries[0]))
def test_put_record_is_the_same_on_both_paths(entry: dict[str, Any]) -> None:
    """The same for a single record."""
    fast, full = engine_with_three_shards(), engine_with_three_shards()
    body = json.dumps({"StreamName": "s"} | encoded(entry)).encode()
    try:
        answer = json.loads(fast.engine.put_record_json(body, SCOPE))
    except NotFastError:
        return

    request = {k: v for k, v in entry.items() if v is not None}
    assert answer == full("PutRecord", StreamName="s", **request)


@settings(max_examples=60)
@given(shard=st.integers(0, 2), limit=st.one_of(st.none(), st.integers(1, 30)), skip=st.integers(0, 10))
def test_get_records_is_the_same_on_both_paths(shard: int, limit: int | None, skip: int) -> None:
    """From any place, with any limit, the JSON says what the full path says."""
    fast = engine_with_three_shards()
    fast(
        "PutRecords", StreamName="s", Records=[{"Data": b"%d" % i, "PartitionKey": str(i)} for i in range(9)]
    )
    iterator = fast.iterator(shard)
    for _ in range(skip):
        iterator = fast.get(iterator, Limit=1)["NextShardIterator"]
    request = {"ShardIterator": iterator} | ({} if limit is None else {"Limit": limit})

    answer = json.loads(fast.engine.get_records_json(json.dumps(request).encode(), SCOPE))

    for record in answer["Records"]:
        record["Data"] = base64.b64decode(record["Data"])
    assert answer == fast.get(iterator, **({} if limit is None else {"Limit": limit}))


def test_the_end_of_a_closed_shard_is_the_same_on_both_paths(api: Api) -> None:
    """Records, ChildShards and no NextShardIterator."""
    api.create()
    api.put(b"last")
    api("SplitShard", StreamName="s", ShardToSplit="shardId-000000000000", NewStartingHashKey="1000")
    iterator = api.iterator()

    answer = json.loads(api.engine.get_records_json(json.dumps({"ShardIterator": iterator}).encode(), SCOPE))

    assert [base64.b64decode(record.pop("Data")) for record in answer["Records"]] == [b"last"]
    full = api.get(iterator)
    assert {k: v for k, v in answer.items() if k != "Records"} == {
        k: v for k, v in full.items() if k != "Records"
    }


GOOD = {"StreamName": "s", "Records": [{"Data": "QUJD", "PartitionKey": "k"}]}


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"[]",
        b"{",
        b"\xff",
        json.dumps(GOOD | {"Unknown": 1}),
        json.dumps(GOOD | {"Records": []}),
        json.dumps(GOOD | {"Records": GOOD["Records"] * 501}),
        json.dumps(GOOD | {"Records": [{"Data": "QUJD"}]}),
        json.dumps(GOOD | {"Records": [{"Data": "QUJ", "PartitionKey": "k"}]}),
        json.dumps(GOOD | {"Records": [{"Data": "QU=D", "PartitionKey": "k"}]}),
        json.dumps(GOOD | {"Records": [{"Data": "QUJD\n", "PartitionKey": "k"}]}),
        json.dumps(GOOD | {"Records": [{"Data": "QUJé", "PartitionKey": "k"}]}),
        json.dumps(GOOD | {"Records": [{"Data": 5, "PartitionKey": "k"}]}),
        json.dumps(GOOD | {"Records": [{"Data": "QUJD", "PartitionKey": ""}]}),
        json.dumps(GOOD | {"Records": [{"Data": "QUJD", "PartitionKey": "k" * 257}]}),
        json.dumps(
            GOOD | {"Records": [{"Data": "QUJD", "PartitionKey": "k", "ExplicitHashKey": str(2**128)}]}
        ),
        json.dumps(GOOD | {"Records": [{"Data": "QUJD", "PartitionKey": "k", "Extra": 1}]}),
        json.dumps(GOOD | {"Records": [{"Data": "QUJD" * 400_000, "PartitionKey": "k"}]}),
        json.dumps(GOOD | {"StreamName": "nobody"}),
        json.dumps(GOOD | {"StreamName": "bad name"}),
        json.dumps({"Records": GOOD["Records"]}),
    ],
)
def test_whatever_is_unusual_is_left_to_the_full_path(body: str | bytes) -> None:
    """Nothing is stored and nothing is answered: the full path gives the verdict."""
    api = Api(None)
    api.create()

    with pytest.raises(NotFastError):
        api.engine.put_records_json(body if isinstance(body, bytes) else body.encode(), SCOPE)

    assert api.drain() == []
    if body != b"[]":
        with pytest.raises(NotFastError):
            api.engine.get_records_json(body if isinstance(body, bytes) else body.encode(), SCOPE)


def test_escaped_slashes_in_base64_are_taken(api: Api) -> None:
    """Some SDKs write them so."""
    api.create()
    data = bytes(range(0, 256, 5)) + b"\xff\xff\xff"
    text = base64.b64encode(data).decode()
    assert "/" in text
    body = json.dumps({"StreamName": "s", "Data": text, "PartitionKey": "k"}).replace("/", "\\/")

    api.engine.put_record_json(body.encode(), SCOPE)

    assert api.drain() == [data]


def test_every_character_of_a_key_survives_both_paths(api: Api) -> None:
    """Keys are JSON in the journal; quotes, backslashes and control characters come back."""
    api.create()
    key = string.printable + "\x00\x7f\u2028é\U0001f600"
    body = json.dumps({"StreamName": "s", "Data": "", "PartitionKey": key})

    api.engine.put_record_json(body.encode(), SCOPE)
    api.put(b"", key)

    assert [record["PartitionKey"] for record in api.get(api.iterator())["Records"]] == [key, key]
