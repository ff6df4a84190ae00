"""Writes down the Kinesis calls that are relayed byte for byte, as the diagnosis has them.

Of a call that went well only what is needed is decoded; the records themselves only while some were refused.
"""

from __future__ import annotations

from typing import Any, Final

import cbor2
import msgspec

from emulator.diagnosis.recorder import ClientRecord
from emulator.kinesis.errors import KinesisError
from emulator.listeners.aws.error_bodies import CBOR_1_1
from emulator.listeners.aws.protocols import protocol_of
from emulator.listeners.aws.service_model import kinesis_model
from emulator.listeners.aws.tapped_calls import AnsweredCall

RECORDED: Final = frozenset({"GetShardIterator", "GetRecords", "PutRecord", "PutRecords", "DeleteStream"})
_PUTS: Final = frozenset({"PutRecord", "PutRecords"})


class _RelayedRequest(msgspec.Struct, omit_defaults=True):
    StreamName: str | None = None
    StreamARN: str | None = None
    ShardId: str | None = None
    ShardIteratorType: str | None = None
    StartingSequenceNumber: str | None = None
    ShardIterator: str | None = None


class _Record(msgspec.Struct, omit_defaults=True):
    SequenceNumber: str | None = None
    ShardId: str | None = None
    ErrorCode: str | None = None


class _RelayedAnswer(_Record, omit_defaults=True):
    Records: list[_Record] = []
    ShardIterator: str | None = None
    NextShardIterator: str | None = None


_read_request: Final = msgspec.json.Decoder(_RelayedRequest).decode
_read_answer: Final = msgspec.json.Decoder(_RelayedAnswer).decode


def note_call(record: ClientRecord, call: AnsweredCall) -> None:
    """Write a call down. What cannot be decoded is passed over: the upstream has judged it."""
    try:
        if call.status != 200:
            record.note_refusal(call.operation, _read_whole(call), _read_error(call), call.came)
            return
        request, answer = _read_needed(call)
        failed = any(each.get("ErrorCode") for each in answer["Records"])
        if call.operation in _PUTS and (failed or record.refused.open):
            request = _read_whole(call)
        if call.operation == "PutRecord":
            del answer["Records"]
        record.note_answer(call.operation, request, answer, call.came)
    except (msgspec.DecodeError, cbor2.CBORError, UnicodeDecodeError, RecursionError, KinesisError, KeyError):
        return


def _read_needed(call: AnsweredCall) -> tuple[dict[str, Any], dict[str, Any]]:
    if call.content_type.startswith(CBOR_1_1):
        answer = cbor2.loads(call.answer) if call.answer else {}
        return cbor2.loads(call.body), {"Records": [], **answer}
    answered = _read_answer(call.answer or b"{}")
    return msgspec.to_builtins(_read_request(call.body)), {"Records": [], **msgspec.to_builtins(answered)}


def _read_whole(call: AnsweredCall) -> dict[str, Any]:
    protocol = protocol_of(call.content_type)
    shape = kinesis_model().operations[call.operation].request
    return protocol.read(call.body, shape) if protocol and shape else {}


def _read_error(call: AnsweredCall) -> str:
    loads = cbor2.loads if call.content_type.startswith(CBOR_1_1) else msgspec.json.decode
    return str(loads(call.answer).get("__type", "InternalFailure")).rpartition("#")[2]
