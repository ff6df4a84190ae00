"""Makes the Kinesis calls that were decoded for an interceptor at the upstream."""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterator, Mapping
from contextlib import aclosing
from typing import Any, Final

import msgspec

from emulator.http.asgi import ClientGoneError
from emulator.kinesis.errors import KinesisError
from emulator.kinesis.group_commit import GroupCommit
from emulator.kinesis.scope import Scope
from emulator.listeners.aws.error_bodies import JSON_1_1
from emulator.listeners.aws.interception import EventStream, FastPath, Request, Response
from emulator.listeners.aws.kinesis_handler import TARGET_PREFIX
from emulator.listeners.aws.protocols import Json11
from emulator.listeners.aws.service_model import kinesis_model
from emulator.relay.aws.connections import UpstreamLostError, UpstreamReply, UpstreamUnreachableError
from emulator.relay.aws.endpoints import Endpoint
from emulator.relay.aws.traffic_watch import Traffic

_PROTOCOL: Final = Json11()
_EVENTS: Final = ("initial-response", "SubscribeToShardEvent")
_UNREADABLE: Final = "what the upstream sent is no stream of events"


class RelayBackend:
    """Answers from an upstream. It calls with JSON 1.1 and a new signature, since faults may change a call.

    ``endpoint`` returns the endpoint of an account and region, which signs.
    """

    fast_paths: Mapping[str, FastPath] = {}
    commits: GroupCommit | None = None

    def __init__(self, endpoint: Callable[[Scope], Endpoint], traffic: Traffic) -> None:
        self._endpoint = endpoint
        self._traffic = traffic

    async def call(self, operation: str, request: Request, scope: Scope) -> Response:
        """Answer with botocore's shapes. Raises KinesisError, and ClientGoneError when no answer came."""
        try:
            reply = await self._ask(operation, request, scope)
            if operation == "SubscribeToShard" and reply.status == 200:
                return {"EventStream": _read_events(reply)}
            body = await reply.whole()
        except UpstreamUnreachableError as error:
            raise KinesisError("ServiceUnavailable", str(error), 503) from error
        except UpstreamLostError as error:
            raise ClientGoneError from error
        if reply.status != 200:
            raise _parse_error(reply.status, body)
        shape = kinesis_model().operations[operation].response
        response = _PROTOCOL.read(body, shape) if body and shape else {}
        self._traffic.learn_from_call(operation, request, response)
        return response

    async def _ask(self, operation: str, request: Request, scope: Scope) -> UpstreamReply:
        endpoint = self._endpoint(scope)
        body = _PROTOCOL.write(request, "")
        headers = [
            (b"content-type", JSON_1_1),
            (b"x-amz-target", TARGET_PREFIX + operation.encode()),
            (b"content-length", b"%d" % len(body)),
        ]
        prepared = endpoint.prepare("POST", b"/", headers, body, service="kinesis", region=scope.region)
        return await endpoint.connections.ask("POST", *prepared, body)


def _parse_error(status: int, body: bytes) -> KinesisError:
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        answer = {}
    fields: dict[str, Any] = answer if isinstance(answer, dict) else {}
    code = str(fields.get("__type", "InternalFailure")).rpartition("#")[2]
    return KinesisError(code, str(fields.get("message") or fields.get("Message") or ""), status)


async def _read_events(reply: UpstreamReply) -> EventStream:
    """Yield the events of a subscription as they come. Raises KinesisError, also for what is none."""
    from botocore.eventstream import EventStreamBuffer

    buffer: Any = EventStreamBuffer()
    shapes = kinesis_model().shapes
    ended = False
    try:
        async with aclosing(reply.pieces()) as pieces:
            async for piece in pieces:
                buffer.add_data(piece)
                for frame in _read_frames(buffer):
                    kind = frame.headers.get(":event-type")
                    if kind is None:
                        code = frame.headers.get(":exception-type", "InternalFailureException")
                        raise KinesisError(str(code), _parse_error(400, frame.payload).message)
                    if kind not in _EVENTS:
                        raise KinesisError("InternalFailureException", f"{_UNREADABLE}: an event {kind!r}")
                    if kind != "initial-response":
                        yield kind, _PROTOCOL.read(frame.payload, shapes[kind].name)
        ended = True
    finally:
        if not ended:
            reply.abandon()


def _read_frames(buffer: Any) -> Iterator[Any]:
    """The frames that are complete. Raises KinesisError for bytes that are none."""
    from botocore.eventstream import ParserError

    try:
        yield from buffer
    except (ParserError, struct.error, UnicodeDecodeError, KeyError) as error:
        why = str(error) or type(error).__name__
        raise KinesisError("InternalFailureException", f"{_UNREADABLE}: {why}") from error
