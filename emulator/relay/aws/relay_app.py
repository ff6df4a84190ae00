"""The AWS port of a relay: streams requests to the upstream, Kinesis through the interceptors."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from emulator.clock import stopwatch
from emulator.diagnosis.recorder import Recorder
from emulator.events import Events
from emulator.http.asgi import (
    ClientGoneError,
    Headers,
    HttpScope,
    Message,
    Receive,
    Send,
    answer,
    whole_body,
)
from emulator.listeners.aws.access_policy import AWS_HEALTH_PATHS
from emulator.listeners.aws.aws_chunked import unframed
from emulator.listeners.aws.credentials import DEFAULT_REGION, Caller, caller_of
from emulator.listeners.aws.error_bodies import service_error
from emulator.listeners.aws.interception import Backend, Interceptor, wanted
from emulator.listeners.aws.kinesis_handler import TARGET_PREFIX, KinesisHandler
from emulator.listeners.aws.moto_api import answer_moto_api, is_moto_api
from emulator.listeners.aws.service_access import Asked, ServiceAccess
from emulator.listeners.aws.stream_access import StreamAccess
from emulator.listeners.aws.tapped_calls import TAPPED, AnsweredCall, tap_call
from emulator.relay.aws.connections import UpstreamLostError, UpstreamReply, UpstreamUnreachableError
from emulator.relay.aws.endpoints import Endpoint, Endpoints
from emulator.relay.aws.passing_on import DROPPED_FROM_ANSWERS, remaining_body, stream_reply
from emulator.relay.aws.relayed_calls import RECORDED, note_call
from emulator.relay.aws.traffic_watch import Traffic

if TYPE_CHECKING:
    from emulator.listeners.aws.moto_services import MotoServices

_SIGNED_CHUNKS = b"STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
_NOTED: Final = RECORDED | TAPPED
_FORM: Final = b"application/x-www-form-urlencoded"
_MISSING_TOKEN = "requests are signed again with your credentials, so they must be signed to begin with"  # noqa: S105 -- says what is missing


class _Request(NamedTuple):
    """A request without its body. ``operation`` is that of Kinesis, or empty. ``came`` is its moment."""

    method: str
    target: bytes
    headers: Headers
    given: dict[bytes, bytes]
    caller: Caller | None
    operation: str
    came: float

    @property
    def service(self) -> str:
        return self.caller.service if self.caller else "s3"

    @property
    def region(self) -> str:
        return self.caller.region if self.caller else DEFAULT_REGION

    @property
    def is_for_s3(self) -> bool:
        """Whether it is S3's; one that is not signed is, unless it has the form of another service's."""
        if self.caller is not None:
            return self.caller.service == "s3"
        return not (
            b"x-amz-target" in self.given
            or b"Action=" in self.target
            or self.target.startswith(b"/_")
            or self.given.get(b"content-type", b"").startswith(_FORM)
        )


class RelayApp:
    """The ASGI application of a relay's AWS port.

    A Kinesis call is decoded and goes through ``backend`` when an interceptor wants it, or ``access``
    restricts its key. Every other request is relayed byte for byte. ``traffic`` learns from the calls, and a
    ``recorder`` writes down what clients of Kinesis do. ``own_s3`` builds what answers S3 in place of the
    upstream, at the first request that needs it.
    """

    def __init__(
        self,
        endpoints: Endpoints,
        backend: Backend,
        traffic: Traffic,
        *,
        events: Events,
        interceptors: Sequence[Interceptor] = (),
        version: str = "",
        access: StreamAccess | None = None,
        reset: Callable[[], object] = lambda: None,
        own_s3: Callable[[ServiceAccess], MotoServices] | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        self._recorder = recorder
        self._new_s3 = own_s3
        self._s3: MotoServices | None = None
        self._endpoints = endpoints
        self._access = access or StreamAccess(events)
        self._service_access = ServiceAccess(self._access, events)
        self._kinesis = KinesisHandler(backend, interceptors, events, self._access, recorder)
        self._traffic = traffic
        self._interceptors = interceptors
        self._version = version
        self._reset = reset

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        request = _parse_request(scope)
        if request.caller is None and not request.operation and scope["path"] in AWS_HEALTH_PATHS:
            await whole_body(receive)
            services = dict.fromkeys(("kinesis", "s3", "dynamodb", "sqs", "sns", "sts", "ssm"), "running")
            document = {"services": services, "edition": "relay", "version": self._version}
            await answer(send, 200, [(b"content-type", b"application/json")], msgspec.json.encode(document))
            return
        if is_moto_api(scope["path"]) and not request.operation:
            await answer_moto_api(scope, receive, send, self._reset)
            return
        if self._new_s3 is not None and request.is_for_s3 and not request.operation:
            self._s3 = self._s3 or self._new_s3(self._service_access)
            await self._s3(scope, receive, send, request.caller, request.given)
            return
        if not request.operation and request.caller and self._access.restricts(request.caller):
            body = await whole_body(receive)
            query = scope["query_string"].decode("latin-1")
            asked = Asked(scope["method"], scope["path"], query, request.given, body)
            if refused := self._service_access.refuse(request.caller, asked):
                await answer(send, refused.status, refused.headers, refused.body)
                return
            receive = _replay(body, receive)
        if self._needs_body(request):
            body = await whole_body(receive)
            if self._access.restricts(request.caller) or wanted(self._interceptors, request.operation, body):
                await self._kinesis(scope, _replay(body, receive), send, request.given)
                return
            await self._relay(request, _replay(body, receive), send)
        else:
            await self._relay(request, receive, send)

    def _needs_body(self, request: _Request) -> bool:
        """Whether the request's body must be read before it is relayed."""
        if not request.operation:
            return False
        return (
            request.operation in self._traffic.operations
            or self._access.restricts(request.caller)
            or any(each.watches(request.operation) is not None for each in self._interceptors)
        )

    async def _relay(self, request: _Request, receive: Receive, send: Send) -> None:
        try:
            endpoint = self._endpoints.of(request.service, request.region)
            if endpoint.signs and (why := _find_signing_objection(request)):
                await _refuse(send, request, 403, "MissingAuthenticationTokenException", why)
                return
            asked, body = await _send_on(endpoint, request, receive)
        except LookupError as error:
            await _refuse(send, request, 501, "NotImplemented", str(error))
        except UpstreamUnreachableError as error:
            await _refuse(send, request, 503, "ServiceUnavailable", str(error))
        except UpstreamLostError as error:
            raise ClientGoneError from error
        else:
            await self._answer(request, body, asked, receive, send)

    async def _answer(
        self, request: _Request, body: bytes, reply: UpstreamReply, receive: Receive, send: Send
    ) -> None:
        headers = [header for header in reply.headers if header[0] not in DROPPED_FROM_ANSWERS]
        if request.operation in self._traffic.operations or reply.complete:
            try:
                whole = await reply.whole()
            except UpstreamLostError as error:
                raise ClientGoneError from error
            # Before the answer goes out, so that the client's next call finds what this one changed.
            if reply.status == 200:
                self._traffic.learn_from_bytes(request.operation, request.given, body, whole)
            if self._recorder is not None:
                self._note(self._recorder, request, body, reply.status, whole)
            await answer(send, reply.status, headers, whole)
            return
        await send({"type": "http.response.start", "status": reply.status, "headers": headers})
        await stream_reply(reply, receive, send)

    @staticmethod
    def _note(recorder: Recorder, request: _Request, body: bytes, status: int, answer: bytes) -> None:
        """Write down a call of Kinesis, for the diagnosis and for those who record what passes."""
        if request.operation not in _NOTED:
            return
        key = request.caller.access_key if request.caller else ""
        record = recorder.find(key, request.given.get(b"user-agent", b""))
        kind = request.given.get(b"content-type", b"")
        call = AnsweredCall(request.operation, kind, body, status, answer, request.came)
        if recorder.wiretap.on:
            tap_call(recorder.wiretap, call, record.name)
        if request.operation in RECORDED:
            note_call(record, call)


def _parse_request(scope: HttpScope) -> _Request:
    headers: Headers = [(name.lower(), value) for name, value in scope["headers"]]
    given = dict(headers)
    query: bytes = scope["query_string"]
    target = scope["raw_path"] + (b"?" + query if query else b"")
    named = given.get(b"x-amz-target", b"")
    operation = named.removeprefix(TARGET_PREFIX).decode("latin-1") if named.startswith(TARGET_PREFIX) else ""
    caller = caller_of(given.get(b"authorization"), query)
    return _Request(scope["method"], target, headers, given, caller, operation, stopwatch())


def _find_signing_objection(request: _Request) -> str | None:
    """Why the request must not be signed, or None. A page in a browser could send an unsigned request."""
    if b"authorization" in request.given and request.caller:
        return None
    if request.caller and request.service == "s3" and request.method in {"GET", "HEAD"}:
        return None
    return _MISSING_TOKEN


async def _send_on(endpoint: Endpoint, request: _Request, receive: Receive) -> tuple[UpstreamReply, bytes]:
    """Send the request to the upstream. Returns the reply, and the body when it came in one piece."""
    first = await receive()
    if first["type"] == "http.disconnect":
        raise ClientGoneError
    body: bytes = first["body"]
    whole = not first["more_body"]
    headers, rest = request.headers, None if whole else remaining_body(receive)
    if endpoint.signs and request.given.get(b"x-amz-content-sha256", b"").startswith(_SIGNED_CHUNKS):
        headers, rest = _drop_chunk_headers(request), unframed(_chain(body, rest))
        body, whole = b"", False
    prepared = endpoint.prepare(
        request.method,
        request.target,
        headers,
        body if whole else None,
        service=request.service,
        region=request.region,
    )
    sent = await endpoint.connections.ask(request.method, *prepared, body, rest)
    return sent, body


def _drop_chunk_headers(request: _Request) -> Headers:
    """Rewrite the headers of an aws-chunked request as those of a plain one."""
    length = request.given.get(b"x-amz-decoded-content-length", b"0")
    dropped = {b"content-length", b"transfer-encoding", b"x-amz-decoded-content-length", b"x-amz-trailer"}
    kept = [header for header in request.headers if header[0] not in {*dropped, b"content-encoding"}]
    encodings = request.given.get(b"content-encoding", b"").split(b",")
    if others := [each.strip() for each in encodings if each.strip() not in (b"", b"aws-chunked")]:
        kept.append((b"content-encoding", b",".join(others)))
    return [*kept, (b"content-length", length)]


async def _chain(first: bytes, rest: AsyncIterator[bytes] | None) -> AsyncIterator[bytes]:
    yield first
    if rest is not None:
        async for piece in rest:
            yield piece


def _replay(body: bytes, receive: Receive) -> Receive:
    """A ``receive`` that returns the body, which has been read, again."""
    again: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return again.pop() if again else await receive()

    return receive_again


async def _refuse(send: Send, request: _Request, status: int, code: str, text: str) -> None:
    headers, body = service_error(request.service, request.given, code, text)
    with contextlib.suppress(ClientGoneError):
        await answer(send, status, headers, body)
