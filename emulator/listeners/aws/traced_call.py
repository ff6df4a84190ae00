"""A request that a handler makes while it has a batch: what it writes is noted for the diagnosis."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final
from urllib.parse import parse_qs

from pybase64 import b64decode

from emulator.diagnosis.handled_batches import HandledBatches
from emulator.http.asgi import HttpScope, Message, Receive, Send
from emulator.kinesis.scope import stream_named
from emulator.listeners.aws.credentials import caller_of
from rdss_sandbox.shapes.recorded_batches import Effect
from schemas.bound import CONTRACT

_ROOT: Final = re.compile(rb"Root=([\w-]+)")
_UUID: Final = re.compile(rb"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_MOST_BYTES: Final = 6 << 20
_READS: Final = re.compile(
    r"(Get|List|Describe|Receive|Delete|Change|Subscribe|Head|Query|Scan|BatchGet|Create|Tag|Set)\w*"
)


def trace_of(headers: dict[bytes, bytes]) -> str:
    """The trace that an SDK puts on each request of a handler; empty for none."""
    found = _ROOT.search(headers.get(b"x-amzn-trace-id", b""))
    return found[1].decode() if found else ""


class TracedCall:
    """One request under ``trace``, whose ``receive`` and ``send`` stand for those of the connection."""

    def __init__(
        self,
        batches: HandledBatches,
        trace: str,
        scope: HttpScope,
        headers: dict[bytes, bytes],
        *,
        receive: Receive,
        send: Send,
    ) -> None:
        self._batches = batches
        self._trace = trace
        self._scope = scope
        self._headers = headers
        self._receive = receive
        self._send = send
        self._body = bytearray()

    async def receive(self) -> Message:
        message = await self._receive()
        if len(self._body) < _MOST_BYTES:
            self._body += message.get("body", b"")
        return message

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and message["status"] < 300:
            self._batches.note_effects(self._trace, self._list_effects())
        await self._send(message)

    def _list_effects(self) -> list[Effect]:
        """What the request wrote. One that cannot be read wrote nothing that is known of."""
        body = bytes(self._body)
        operation = self._headers.get(b"x-amz-target", b"").decode("latin-1").rpartition(".")[2]
        with suppress(ValueError, TypeError, KeyError, AttributeError):
            caller = caller_of(self._headers.get(b"authorization"), self._scope["query_string"])
            service = caller.service if caller else ""
            if service == "s3":
                return list(self._list_objects(body))
            if not operation:
                return [_published(form) for form in [parse_qs(body.decode())] if "TopicArn" in form]
            if not _READS.fullmatch(operation):
                return list(_list_messages(service, operation, body))
        return []

    def _list_objects(self, body: bytes) -> Iterator[Effect]:
        if self._scope["method"] == "PUT":
            path: str = self._scope["path"]
            yield Effect(f"s3:{path.split('/')[1]}", path, _find_ids(path.encode() + body))


def _published(form: dict[str, list[str]]) -> Effect:
    return _message(f"sns:{form['TopicArn'][0].rpartition(':')[2]}", form["Message"][0].encode())


def _list_messages(service: str, operation: str, body: bytes) -> Iterator[Effect]:
    request: dict[str, Any] = json.loads(body)
    if operation in {"PutRecord", "PutRecords"}:
        for entry in request.get("Records", (request,)):
            yield _message(f"kinesis:{stream_named(request)}", b64decode(entry["Data"]))
    elif operation in {"SendMessage", "SendMessageBatch"}:
        for entry in request.get("Entries", (request,)):
            yield _message(f"sqs:{request['QueueUrl'].rpartition('/')[2]}", entry["MessageBody"].encode())
    else:
        yield Effect(f"{service}:{operation}", "", _find_ids(body))


def _message(place: str, data: bytes) -> Effect:
    return Effect(place, CONTRACT.peek(data).message_id or "", _find_ids(data))


def _find_ids(data: bytes) -> frozenset[str]:
    return frozenset(found.decode().lower() for found in _UUID.findall(data))
