"""A message that is moved to a queue of errors says why, and loses nothing."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.contract import Undecorated
from schemas.rdss.decoration import REDRIVEN, SYNTHESISED, decorate, redrive, undecorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek
from schemas.rdss.validation import is_valid

NOW = 1_544_522_400.0


def test_the_header_says_what_was_wrong(message: dict[str, Any]) -> None:
    """errorCode, errorDescription and one more machine in the history; all else is as it was."""
    raw = decorate(
        serialise(message), ErrorCode.GENERR001, "no title", now=NOW, machine_id="rx", machine_address="::1"
    )
    decorated = json.loads(raw)
    header = decorated["messageHeader"]
    assert (header.pop("errorCode"), header.pop("errorDescription")) == ("GENERR001", "no title")
    entry = {"machineId": "rx", "machineAddress": "::1", "timestamp": "2018-12-11T10:00:00.000Z"}
    assert header["messageHistory"].pop() == entry
    assert decorated == message


def test_the_body_is_not_even_re_encoded(message: dict[str, Any]) -> None:
    """Spaces, escapes and the order of the body's fields are the sender's."""
    body = b'{ "objectTitle" : "\\u00e9\\/" , "objectUUID":1.50}'
    header = serialise(message["messageHeader"])
    raw = decorate(
        b'{"messageBody":%b,"messageHeader":%b}' % (body, header), ErrorCode.GENERR001, "x", now=NOW
    )
    assert body in raw


def test_an_empty_description_becomes_the_codes_own(message: dict[str, Any]) -> None:
    """The two fields are mandatory on both queues ("Error Queues")."""
    raw = decorate(serialise(message), ErrorCode.GENERR009, "", now=NOW)
    assert json.loads(raw)["messageHeader"]["errorDescription"] == ErrorCode.GENERR009.description


def test_an_oversize_message_is_replaced_by_where_it_was_kept(message: dict[str, Any]) -> None:
    """What fits in no queue is referenced: its address, size and checksum; the header is its own."""
    whole = serialise(message)
    kept = "s3://rdss-error/original/1.json"
    decorated = json.loads(decorate(whole, ErrorCode.GENERR006, "too large", now=NOW, original=kept))
    assert decorated["messageBody"] == {
        "original": kept,
        "bytes": len(whole),
        "sha256": hashlib.sha256(whole).hexdigest(),
    }
    assert decorated["messageHeader"]["messageId"] == message["messageHeader"]["messageId"]


def test_a_history_that_is_no_list_is_left_alone(message: dict[str, Any]) -> None:
    """A corrupt header is evidence: nothing of it is replaced."""
    message["messageHeader"]["messageHistory"] = "unreadable"
    decorated = json.loads(decorate(serialise(message), ErrorCode.GENERR004, "x", now=NOW))
    assert decorated["messageHeader"]["messageHistory"] == "unreadable"


def test_malformed_json_in_the_body_leaves_the_header(message: dict[str, Any]) -> None:
    """A body that is torn off is kept as text under the header that came with it."""
    torn = serialise(message)[:-40]
    decorated = json.loads(decorate(torn, ErrorCode.GENERR007, "torn", now=NOW))
    assert decorated["messageBody"] == {"raw": torn.decode()}
    assert decorated["messageHeader"]["generator"] == message["messageHeader"]["generator"]
    assert is_valid("header.Header", decorated["messageHeader"])


def test_a_header_is_made_where_none_can_be_read(message: dict[str, Any]) -> None:
    """The id found in the text is used, the text is kept, and the header says that it was made here."""
    whole = serialise(message)
    torn = whole[: whole.index(b'"generator"')]
    decorated = json.loads(decorate(torn, ErrorCode.GENERR007, "torn", now=NOW))
    assert decorated["messageBody"] == {"raw": torn.decode()}
    header = decorated["messageHeader"]
    assert header["generator"] == SYNTHESISED
    for kept in ("messageId", "messageClass", "messageType"):
        assert header[kept] == message["messageHeader"][kept]


@pytest.mark.parametrize(
    "raw", [b"", b"\xff\x00", b"[1]", b'"text"', b'{"messageHeader":7,"messageBody":{}}', b"[" * 99_999]
)
def test_bytes_without_an_id_get_the_same_one_each_time(raw: bytes) -> None:
    """A redelivery of the same garbage is recognisable as such."""
    first, second = (json.loads(decorate(raw, ErrorCode.GENERR007, "x", now=NOW + late)) for late in (0, 60))
    assert first["messageHeader"]["messageId"] == second["messageHeader"]["messageId"]
    assert first["messageHeader"]["errorCode"] == "GENERR007"
    assert is_valid("primitives.UUID", first["messageHeader"]["messageId"])


@given(st.binary(max_size=200))
def test_any_bytes_can_be_recovered(raw: bytes) -> None:
    """Bad input never loses data."""
    decorated = decorate(raw, ErrorCode.GENERR007, "x", now=NOW)
    body = json.loads(decorated)["messageBody"]
    assert (body["raw"].encode() if "raw" in body else base64.b64decode(body["rawBase64"])) == raw
    assert peek(decorated).error_code == "GENERR007"


@given(st.binary(max_size=200))
def test_whatever_was_decorated_comes_out_again(raw: bytes) -> None:
    """Bytes that are no message come out as they were, with the reason that was written beside them."""
    found = undecorate(decorate(raw, ErrorCode.GENERR007, "no JSON", now=NOW))
    assert (found.data, found.reason, found.redriven) == (raw, "no JSON", 0)


def test_malformed_json_behind_a_header_comes_out_too(message: dict[str, Any]) -> None:
    """Its header was readable, and stands twice in the queue: beside the bytes and in them."""
    raw = serialise(message)[:-1] + b",}"
    assert undecorate(decorate(raw, ErrorCode.GENERR007, "a comma", now=NOW)).data == raw


def test_an_oversize_message_is_named_by_its_address(message: dict[str, Any]) -> None:
    """Whoever wants it has to fetch it, and can check it."""
    whole, kept = serialise(message), "s3://rdss-error/original/1.json"
    decorated = decorate(whole, ErrorCode.GENERR006, "too large", now=NOW, original=kept)
    digest = hashlib.sha256(whole).hexdigest()
    assert undecorate(decorated) == Undecorated(decorated, "too large", 0, kept, digest)


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{broken", b"\xff", b"[]", b'{"messageHeader": 1}', b'{"messageHeader": {}}',
        b'{"messageHeader": {"errorCode": "X", "messageHistory": 1}, "messageBody": {"rawBase64": "%"}}',
        b'{"messageHeader": {"errorCode": "X"}, "messageBody": {"original": "s3://a/b"}}',
        b'{"messageHeader": {}, "messageBody": {"raw": "not from a queue"}}',
    ],
)  # fmt: skip
def test_what_was_not_decorated_stays(raw: bytes) -> None:
    """Also what only looks as if."""
    assert undecorate(raw) == Undecorated(raw)


def test_a_redriven_message_is_stamped_and_stripped_of_its_error(message: dict[str, Any]) -> None:
    """The queue's decoration is gone, an entry is in its history, and a second round is counted."""
    once = redrive(decorate(serialise(message), ErrorCode.GENERR006, "no luck", now=NOW), now=NOW)
    header = json.loads(once)["messageHeader"]
    assert header.keys().isdisjoint({"errorCode", "errorDescription"})
    assert header["messageHistory"][-1] == {
        "machineId": REDRIVEN, "machineAddress": "localhost", "timestamp": "2018-12-11T10:00:00.000Z",
    }  # fmt: skip
    assert json.loads(once)["messageBody"] == message["messageBody"]
    assert undecorate(redrive(once, now=NOW)).redriven == 2


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{broken", b"\xff\xfe", b"[]", b'{"messageHeader": 1}',
        b'{"messageHeader":{"messageHistory":1}}',
    ],
)  # fmt: skip
def test_bytes_that_are_no_message_are_redriven_as_they_are(raw: bytes) -> None:
    """There is no header to stamp, or no history."""
    assert redrive(raw, now=NOW) == raw
