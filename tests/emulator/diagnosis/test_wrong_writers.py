"""Each mistake of a writer, made by real boto3 on the wire, is found with its evidence."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from botocore.exceptions import ClientError

from emulator.diagnosis import content_reader
from emulator.diagnosis.rules.bad_messages import INVALID
from emulator.rng import new_uuid
from schemas.rdss.sequence import split
from tests.emulator.diagnosis.diagnosed_stream import Wire

THROTTLED = "ProvisionedThroughputExceededException"


def entries(wire: Wire, count: int) -> list[dict[str, Any]]:
    return [
        {"Data": json.dumps(wire.samples.message()).encode(), "PartitionKey": f"k{number}"}
        for number in range(count)
    ]


def test_failed_entries_that_are_never_put_again(wire: Wire) -> None:
    """The fault that failed them is named; a minute is given to put them again."""
    fault = wire.fault("partial_failure", limit=2)
    given = entries(wire, 5)
    answer = wire.producer.put_records(StreamName=wire.stream, Records=given)
    assert answer["FailedRecordCount"] == 2
    assert wire.rules() == []

    wire.clock.advance(61)
    found = wire.find("dropped-entries")
    assert (found.evidence["entries"], found.faults) == (2, (fault,))
    failed = [
        json.loads(entry["Data"])["messageHeader"]["messageId"]
        for entry, each in zip(given, answer["Records"], strict=True)
        if "ErrorCode" in each
    ]
    assert found.evidence["messageIds"] == failed
    assert wire.rules() == ["dropped-entries"]


def test_retries_without_a_pause(wire: Wire) -> None:
    """The same record, put again at once after each throttle."""
    fault = wire.fault("throttle", limit=12)
    (given,) = entries(wire, 1)
    for _ in range(12):
        with pytest.raises(ClientError, match=THROTTLED):
            wire.producer.put_record(StreamName=wire.stream, **given)
    wire.producer.put_record(StreamName=wire.stream, **given)
    found = wire.find("no-back-off")
    assert found.faults == (fault,)
    assert len(found.evidence["pauses"][0]) == 12


def test_reads_that_are_throttled_and_come_again_at_once(wire: Wire) -> None:
    wire.put(1)
    reader = wire.client("reader")
    iterator = wire.iterator(reader)
    wire.fault("throttle", direction="deliver", limit=12)
    for _ in range(12):
        with pytest.raises(ClientError, match=THROTTLED):
            wire.read(reader, iterator)
    assert wire.find("no-back-off").client == f"reader-{wire.stream} (Boto3/{_version()})"


def _version() -> str:
    import boto3

    return boto3.__version__


def test_an_invalid_message_is_its_writers(wire: Wire) -> None:
    """It is blamed on the client that put it, although another one writes to the stream too."""
    message = wire.samples.message()
    del message["messageHeader"]["messageType"]
    wire.put(1)
    wire.client("careless").put_record(
        StreamName=wire.stream, Data=json.dumps(message).encode(), PartitionKey="k"
    )
    wire.put(1)
    found = wire.find("invalid-message")
    assert found.client is not None
    assert found.client.startswith("careless-")
    assert found.evidence["messageIds"] == [message["messageHeader"]["messageId"]]
    assert "GENERR" in found.evidence["why"][0]


def test_nothing_is_called_valid_where_nothing_validates(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the validator's extra a message counts as not validated, and as no chance for a finding."""
    monkeypatch.setattr(content_reader, "load_validator", lambda _: None)
    wire.put(2)
    assert wire.rules() == []
    exchange = wire.control.recorded_exchange()
    (stream,) = [each for each in exchange.streams if each.name == wire.stream]
    assert (stream.contents.messages, stream.contents.unvalidated) == (2, 2)
    assert INVALID.judge(msgspec.structs.replace(exchange, streams=(stream,))).looked == 0


def test_one_message_id_with_different_bytes(wire: Wire) -> None:
    message = wire.samples.message()
    wire.put_bytes(json.dumps(message).encode())
    wire.put_bytes(json.dumps(message).encode())
    assert wire.rules() == []
    wire.put_bytes(json.dumps(message, indent=1).encode())
    found = wire.find("altered-message")
    assert found.evidence["messageIds"] == [message["messageHeader"]["messageId"]]


def update_of(message: dict[str, Any], wire: Wire) -> dict[str, Any]:
    """A MetadataUpdate as it should be: the object whole, changed, under an objectUUID of its own."""
    newer = wire.samples.message("MetadataUpdate")
    body = {**message["messageBody"], "objectUUID": new_uuid(), "objectTitle": "A better title"}
    previous = {"identifierValue": message["messageBody"]["objectUUID"], "identifierType": "UUID"}
    body["objectRelatedIdentifier"] = [{"identifier": previous, "relationType": "isNewVersionOf"}]
    return {"messageHeader": newer["messageHeader"], "messageBody": body}


def put(wire: Wire, message: dict[str, Any]) -> str:
    """Put a message, and return its messageId."""
    wire.put_bytes(json.dumps(message).encode())
    return str(message["messageHeader"]["messageId"])


def test_an_update_under_the_objectUUID_of_the_version_before(wire: Wire) -> None:  # noqa: N802
    """The finding is about the later of the two, although a shard is read after the other."""
    first = wire.samples.message("MetadataCreate")
    newer = update_of(first, wire)
    put(wire, first)
    put(wire, newer)
    assert wire.rules() == []
    third = update_of(newer, wire)
    third["messageBody"]["objectUUID"] = first["messageBody"]["objectUUID"]
    named = put(wire, third)
    found = wire.find("reused-object-uuid")
    assert found.evidence["messageIds"] == [named]
    assert first["messageHeader"]["messageId"] in found.evidence["why"][0]
    assert wire.rules() == ["reused-object-uuid"]


def test_an_update_that_is_a_new_version_of_itself(wire: Wire) -> None:
    message = update_of(wire.samples.message("MetadataCreate"), wire)
    (related,) = message["messageBody"]["objectRelatedIdentifier"]
    related["identifier"]["identifierValue"] = message["messageBody"]["objectUUID"]
    assert [put(wire, message)] == wire.find("reused-object-uuid").evidence["messageIds"]
    assert wire.rules() == ["reused-object-uuid"]


@pytest.mark.parametrize("kind", ["MetadataCreate", "MetadataUpdate"])
def test_a_body_that_changed_under_its_objectUUID(wire: Wire, kind: str) -> None:  # noqa: N802
    """Two messages publish one version, with different titles."""
    message = update_of(wire.samples.message("MetadataCreate"), wire)
    message["messageHeader"]["messageType"] = kind
    put(wire, message)
    message["messageHeader"]["messageId"] = new_uuid()
    message["messageBody"]["objectTitle"] = "Another title"
    assert [put(wire, message)] == wire.find("changed-object").evidence["messageIds"]
    assert wire.rules() == ["changed-object"]


def test_an_update_of_no_version_before(wire: Wire) -> None:
    """One without a relation, and one whose relation names the version before by its DOI."""
    message = update_of(wire.samples.message("MetadataCreate"), wire)
    (related,) = message["messageBody"].pop("objectRelatedIdentifier")
    named = [put(wire, message)]
    other = update_of(message, wire)
    related["identifier"] = {"identifierValue": "10.5072/238039615", "identifierType": "DOI"}
    other["messageBody"]["objectRelatedIdentifier"] = [related]
    named.append(put(wire, other))
    assert wire.find("update-without-predecessor").evidence["messageIds"] == named
    assert wire.rules() == ["update-without-predecessor"]


def test_bytes_that_are_no_message_among_messages(wire: Wire) -> None:
    """Ten messages show what the stream is for; the code is the one that a receiver rejects with."""
    wire.put(9)
    wire.put_bytes(b"\x00\xff no JSON")
    assert wire.rules() == []
    wire.put(1)
    found = wire.find("no-message")
    assert found.evidence["messages"] == 1
    assert "GENERR007" in found.said
    wire.put_bytes(b'{"a": 1}')
    assert wire.find("no-message").evidence["why"][1] == (
        "GENERR004: /messageHeader: is required and missing: b'{\"a\": 1}'"
    )


def test_a_message_that_had_expired_when_it_was_sent(wire: Wire) -> None:
    message = wire.samples.message()
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = "2019-01-01T00:00:00Z"
    assert [put(wire, message)] == wire.find("expired-message").evidence["messageIds"]
    assert "2019-01-01" in wire.find("expired-message").said


def test_a_message_over_the_limit(wire: Wire) -> None:
    """One that the stream takes, and one that it refuses."""
    wire.put_bytes(json.dumps(wire.samples.message()).encode().ljust(1_000_100))
    assert "1,000,100 bytes" in wire.find("over-the-limit").said
    with pytest.raises(ClientError, match="ValidationException"):
        wire.put_bytes(b"x" * 11_000_000)
    found = [each for each in wire.findings() if each.rule == "over-the-limit"]
    assert [each.evidence["bytes"] for each in found if "bytes" in each.evidence] == [11_000_000]


def test_a_part_of_a_sequence_that_never_comes(wire: Wire) -> None:
    parts = split(wire.samples.big_message(3), new_id=lambda: "00000000-0000-4000-8000-000000000000")
    for part in (parts[0], parts[2]):
        wire.put_bytes(part)
    assert wire.rules() == []
    wire.clock.advance(61)
    found = wire.find("incomplete-sequence")
    assert (found.evidence["missing"], found.evidence["total"]) == ([2], 3)
    wire.put_bytes(parts[1])
    assert wire.rules() == []


def test_partition_keys_that_all_land_on_one_shard(wire: Wire) -> None:
    wire.split()
    for _ in range(10):
        wire.producer.put_records(
            StreamName=wire.stream,
            Records=[{"Data": b"reading %d" % n, "PartitionKey": "always"} for n in range(10)],
        )
    found = wire.find("one-shard")
    assert (found.evidence["records"], found.evidence["keys"], found.evidence["shards"]) == (100, 1, 2)
