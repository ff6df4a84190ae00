"""What one record becomes."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa
import pytest

from emulator.settings.topologies import message_stream
from sandbox.pipeline.stages.batch import Rules
from sandbox.pipeline.stages.object_versions import read_subject
from sandbox.pipeline.stages.parsing import build_judge, judge_record
from sandbox.pipeline.storage.schema import TABLES
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split

NOW = datetime(2026, 11, 21, 8, tzinfo=UTC).timestamp()


def _samples() -> Samples:
    return Samples(5, now=NOW)


def test_a_valid_message_is_described_by_its_header_and_its_object() -> None:
    """A message's row holds its header, its object and no code."""
    message = _samples().message("MetadataCreate", "dataset")
    found = judge_record(serialise(message), NOW)
    header, body = message["messageHeader"], message["messageBody"]
    assert found["code"] is None
    assert found["message_id"] == header["messageId"]
    assert found["tenant"] == header["tenantJiscID"]
    assert (found["object_uuid"], found["title"]) == (body["objectUUID"], body["objectTitle"])
    assert found["resource_type"] == "dataset"
    assert set(found) <= {column.name for column in TABLES["arrivals"].columns}


@pytest.mark.parametrize(
    "code", ["GENERR001", "GENERR002", "GENERR003", "GENERR004", "GENERR007", "GENERR010"]
)
def test_a_bad_message_gets_the_code_that_the_contract_gives_it(code: str) -> None:
    """Every code that a message alone can cause is found, and says why."""
    raw = _samples().bad(ErrorCode(code))
    found = judge_record(raw, NOW)
    assert (found["code"], found["size"]) == (code, len(raw))
    assert found["description"]


def test_an_oversize_message_is_the_systems_failure() -> None:
    """A message of more than a megabyte is rejected as GENERR006."""
    found = judge_record(b" " * 1_000_001, NOW)
    assert found["code"] == "GENERR006"


@pytest.mark.parametrize("raw", [b"", b"\xff\xfe", b"null", b"[]", b"{" * 100_000, b'{"messageHeader": 3}'])
def test_no_bytes_whatever_stop_it(raw: bytes) -> None:
    """Any bytes are a row with a code; two records of the same unreadable bytes have one identity."""
    found = judge_record(raw, 0.0)
    assert found["code"]
    assert found["identity"] == judge_record(raw, NOW)["identity"]
    assert found["identity"] != judge_record(raw + b" ", NOW)["identity"]


def test_numbers_that_no_column_holds_are_left_out() -> None:
    """A tenant or a position beyond what a table can hold rejects the message, not the run."""
    message = _samples().message("MetadataDelete")
    message["messageHeader"]["tenantJiscID"] = 2**70
    message["messageHeader"]["messageSequence"]["position"] = 2**40
    found = judge_record(serialise(message), NOW)
    assert (found["tenant"], found["position"]) == (None, None)


def test_a_queued_message_has_the_code_its_receiver_gave_it() -> None:
    """What lies on the invalid queue is not judged again: its header says why it is there."""
    raw = _samples().bad(ErrorCode.GENERR010)
    queued = decorate(raw, ErrorCode.GENERR002, "not supported here", now=NOW)
    found = judge_record(queued, NOW, queued=True)
    assert (found["code"], found["description"]) == ("GENERR002", "not supported here")


@pytest.mark.parametrize("stream", ["error", message_stream("error"), "amqp:error"])
def test_a_queue_is_one_on_every_port(stream: str) -> None:
    """Streams of both topologies, and what came over AMQP, as the audit log names it."""
    queued = decorate(serialise(_samples().message()), ErrorCode.GENERR005, "no answer", now=NOW)
    row = {"data": queued, "partitionKey": "k", "streamName": stream, "shardId": "0", "sequenceNumber": "1"}
    at = {"approximateArrivalTimestamp": datetime.fromtimestamp(NOW, UTC)}
    (rows,) = build_judge(Rules().queues)(iter([pa.RecordBatch.from_pylist([row | at])]))
    assert rows.column("code").to_pylist() == ["GENERR005"]


def test_expiry_is_judged_at_arrival() -> None:
    """The same message is good when it arrived in time and GENERR003 when it did not, whenever one looks."""
    message = _samples().message("MetadataDelete")
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = "2026-11-21T08:30:00Z"
    raw = serialise(message)
    assert judge_record(raw, NOW + 29 * 60)["code"] is None
    assert judge_record(raw, NOW + 31 * 60)["code"] == "GENERR003"


def test_a_new_version_names_what_it_replaces() -> None:
    """isNewVersionOf names the one that is replaced, isPreviousVersionOf the one that replaced it."""
    body = {
        "objectUUID": "b",
        "objectRelatedIdentifier": [
            {"relationType": "cites", "identifier": {"identifierValue": "c"}},
            *(
                {"relationType": relation, "identifier": {"identifierValue": uuid, "identifierType": "UUID"}}
                for relation, uuid in (("isNewVersionOf", "a"), ("isPreviousVersionOf", "c"))
            ),
        ],
    }
    about = read_subject(serialise({"messageHeader": {}, "messageBody": body}))
    assert (about.replaces, about.previous, about.following) == ("a", ("a",), ("c",))


def test_parts_that_share_a_message_id_are_told_apart() -> None:
    """As the specification's own code makes them; the same part again has the same identity."""
    message = _samples().big_message(3, limit=20_000)
    header = message["messageHeader"]
    parts = split(message, limit=20_000, new_id=lambda: header["messageId"])
    found = [judge_record(part, NOW) for part in parts]
    assert {each["message_id"] for each in found} == {header["messageId"]}
    assert {each["code"] for each in found} == {None}
    assert len({each["identity"] for each in found}) == len(parts)
    assert judge_record(parts[1], NOW)["identity"] == found[1]["identity"]
