"""Messages as their senders sent them: verdicts on those, redrives, and bodies joined from parts."""

from __future__ import annotations

import json

import pytest

from emulator.assembly.embedded import Embedded
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.messages import NewMessage
from schemas.rdss.contract import RDSS
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples

BUCKET = "rdss-error"


def put(api: Client, data: bytes, stream: str = "input") -> int:
    """Send a message, and return its id."""
    api.send(NewMessage(stream, data, "a-key"))
    return api.messages().last


def refuse(api: Client, data: bytes, code: ErrorCode, why: str, original: str | None = None) -> int:
    """Put a message into the error queue as a receiver does, and return its id."""
    decorated = decorate(data, code, why, now=api.clock().time, original=original)
    return put(api, decorated, "error")


def test_a_refused_message_comes_out_as_it_was_sent(api: Client) -> None:
    """The verdict is on the bytes that the queue wrapped, and the queue's reason stands beside it."""
    refused = refuse(api, b"{broken", ErrorCode.GENERR007, "no JSON")
    assert api.original(refused).data == b"{broken"
    verdict = api.verdict(refused)
    assert (verdict.code, verdict.reason) == ("GENERR007", "no JSON")
    assert verdict.violations[0].rule == "json"


def test_a_message_that_is_valid_has_nothing_against_it(api: Client) -> None:
    """No code, no violation, no reason."""
    verdict = api.verdict(put(api, serialise(Samples(1, now=api.clock().time).message())))
    assert (verdict.code, verdict.violations, verdict.reason) == (None, (), None)


def test_an_oversize_message_is_fetched_from_its_bucket(api: Client, emulator: Embedded) -> None:
    """The reference in the queue leads to the whole; another object there is refused, one elsewhere too."""
    whole = serialise(Samples(1).big_message(2))
    place = f"s3://{BUCKET}/originals/1"
    buckets = emulator.components.buckets.client()
    buckets.put_object(Bucket=BUCKET, Key="originals/1", Body=whole)
    refused = refuse(api, whole, ErrorCode.GENERR006, "too large", place)
    assert api.original(refused).data == whole
    assert api.verdict(refused).code == "GENERR006"

    buckets.put_object(Bucket=BUCKET, Key="originals/1", Body=b"another")
    with pytest.raises(RefusedError, match="its SHA-256 differs"):
        api.original(refused)
    buckets.delete_object(Bucket=BUCKET, Key="originals/1")
    with pytest.raises(RefusedError, match="does not exist"):
        api.verdict(refused)
    with pytest.raises(RefusedError, match="is in no bucket"):
        api.original(refuse(api, whole, ErrorCode.GENERR006, "too large", "file:///etc/passwd"))


def test_what_no_stream_holds_any_more_is_said_to_be_gone(api: Client, emulator: Embedded) -> None:
    """Only its row is left; an id that nobody has is another matter."""
    row = put(api, b"{}")
    emulator.components.clock.advance(2 * 86_400)
    with pytest.raises(RefusedError, match="only its row is left"):
        api.original(row)
    with pytest.raises(RefusedError, match="no message has the id 99"):
        api.verdict(99)


def test_a_redriven_message_says_so(api: Client) -> None:
    """It goes without the queue's error, and each round is counted."""
    data = serialise(Samples(1).message())
    refused = refuse(api, data, ErrorCode.GENERR006, "no luck")
    for times in (1, 2):
        api.redrive(NewMessage("input", api.original(refused).data, "a-key"))
        sent = api.messages(matching="stream:input").messages[-1]
        header = api.message(sent.id).header or {}
        assert "errorCode" not in header
        assert header["messageHistory"][-1]["machineId"] == "rdss-sandbox-redrive"
        assert api.original(sent.id).redriven == times
        refused = refuse(api, api.original(sent.id).data, ErrorCode.GENERR006, "no luck")
    with pytest.raises(RefusedError, match="no stream is named 'nowhere'"):
        api.redrive(NewMessage("nowhere", data))


@pytest.fixture
def parts() -> list[bytes]:
    ids = iter(f"{number:08x}-0000-4000-8000-000000000000" for number in range(10))
    whole = serialise(Samples(5).big_message(3))
    return RDSS.sequences.split(whole, new_id=lambda: next(ids))


def test_the_parts_of_a_sequence_are_joined(api: Client, parts: list[bytes]) -> None:
    """In any order and with repetitions; while one is missing the verdict says which."""
    sequence = json.loads(parts[0])["messageHeader"]["messageSequence"]["sequence"]
    for data in (parts[2], parts[0], parts[2]):
        put(api, data)
    waiting = api.joined(sequence, stream="input")
    assert (waiting.body, waiting.raw) == (None, None)
    assert "lacks the parts at positions [2]" in waiting.violations[0].message

    put(api, parts[1])
    found = api.joined(sequence, stream="input")
    assert (found.code, found.violations) == (None, ())
    assert (found.raw or "").encode() == RDSS.sequences.judge_parts(parts).whole
    assert found.body == json.loads(found.raw or "")["messageBody"]
    with pytest.raises(RefusedError, match="output has no parts"):
        api.joined(sequence, stream="output")


def test_so_many_parts_are_not_joined(api: Client, parts: list[bytes]) -> None:
    """Somebody who sends a part again and again does not fill the sandbox's memory."""
    header = json.loads(parts[0])["messageHeader"]
    part = serialise({"messageHeader": header, "messageBody": "{"})
    for _ in range(201):
        api.send(NewMessage("input", part, "a-key"))
    with pytest.raises(RefusedError, match="more than 200 parts"):
        api.joined(header["messageSequence"]["sequence"], stream="input")


def test_entries_of_the_audit_log_have_their_originals(api: Client) -> None:
    """As the streams' messages have."""
    put(api, b"{broken")
    api.drain_audit()
    for place in ("stream", "bucket"):
        log = api.audit(place)
        (entry,) = log.messages().messages
        assert log.original(entry.id).data == b"{broken"
        assert log.verdict(entry.id).code == "GENERR007"
