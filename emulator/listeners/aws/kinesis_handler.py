"""Kinesis over HTTP: a request goes through the interceptors to the backend, and its answer back.

The checks are in AWS's order: method, content type, body, operation, authentication, types, constraints.
Bad input gets AWS's error, never a 500.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from traceback import format_exception
from typing import NamedTuple

from emulator.clock import stopwatch
from emulator.diagnosis.kinesis_trace import find_code
from emulator.diagnosis.recorder import ClientRecord, Recorder
from emulator.events import Events
from emulator.http.asgi import (
    BodyTooLongError,
    ClientGoneError,
    Headers,
    HttpScope,
    Receive,
    Send,
    answer,
    run_until_first,
    wait_for_disconnect,
    whole_body,
)
from emulator.kinesis.errors import KinesisError, NotFastError
from emulator.kinesis.onlooker import NOBODY
from emulator.kinesis.scope import Scope
from emulator.listeners.aws import eventstream
from emulator.listeners.aws.credentials import (
    DEFAULT_ACCOUNT,
    DEFAULT_REGION,
    Caller,
    caller_of,
    incomplete,
    incomplete_query,
)
from emulator.listeners.aws.error_bodies import JSON_1_1
from emulator.listeners.aws.interception import (
    Backend,
    EventStream,
    Interceptor,
    Request,
    Response,
    call_through,
    watched_streams,
)
from emulator.listeners.aws.protocols import WireProtocol, protocol_of
from emulator.listeners.aws.request_ids import kinesis_ids
from emulator.listeners.aws.request_validation import check
from emulator.listeners.aws.service_model import Operation, kinesis_model
from emulator.listeners.aws.stream_access import StreamAccess
from emulator.listeners.aws.tapped_calls import AnsweredCall, tap_call, tap_events

TARGET_PREFIX = b"Kinesis_20131202."
_MOST_BODY_BYTES = 64 << 20
_UNAUTHORISED = (
    b"<AccessDeniedException>\n"
    b"  <Message>Unable to determine service/operation name to be authorized</Message>\n"
    b"</AccessDeniedException>\n"
)


class _Call(NamedTuple):
    """A request as received."""

    operation: str
    method: str
    headers: dict[bytes, bytes]
    query: bytes
    body: bytes

    def header(self, name: bytes) -> bytes:
        return self.headers.get(name, b"")


class _Answer(NamedTuple):
    status: int
    content_type: bytes
    body: bytes
    error: str = ""


class _Subscription(NamedTuple):
    protocol: WireProtocol
    events: EventStream


class KinesisHandler:
    """Answers Kinesis requests in the protocol that they came in.

    A ``recorder`` writes down what clients do.
    """

    def __init__(
        self,
        backend: Backend,
        interceptors: Sequence[Interceptor],
        events: Events,
        access: StreamAccess,
        recorder: Recorder | None = None,
    ) -> None:
        self._recorder = recorder
        self._backend = backend
        self._access = access
        self._interceptors = interceptors
        self._events = events

    async def __call__(
        self, scope: HttpScope, receive: Receive, send: Send, headers: dict[bytes, bytes]
    ) -> None:
        """Answer one request. Raises ClientGoneError when an interceptor wants the connection closed."""
        operation = headers.get(b"x-amz-target", b"").removeprefix(TARGET_PREFIX).decode("latin-1")
        protocol = protocol_of(headers.get(b"content-type", b""))
        body, came = b"", stopwatch()
        try:
            body = await whole_body(receive, _MOST_BODY_BYTES)
            call = _Call(operation, scope["method"], headers, scope["query_string"], body)
            fast = self._fast(call, protocol)
            if fast is not None and (commits := self._backend.commits) is not None:
                await commits.wait()
            reply = fast or await self._full(call, protocol)
        except KinesisError as error:
            reply = _error(error, protocol)
        except BodyTooLongError:
            reply = _error(KinesisError("RequestEntityTooLargeException", "", 413), protocol)
        except ClientGoneError:
            raise
        except Exception as error:  # noqa: BLE001 -- the client gets AWS's error, the events get the reason
            reply = self._failure(operation, error, protocol)
        if isinstance(reply, _Subscription):
            await _send_events(reply, receive, send)
        else:
            if self._recorder is not None and self._recorder.wiretap.on:
                self._tap(_Call(operation, "", headers, scope["query_string"], body), reply, came)
            await answer(send, reply.status, _response_headers(reply), reply.body)

    def _fast(self, call: _Call, protocol: WireProtocol | None) -> _Answer | None:
        """Answer from bytes to bytes. Returns None for a request that needs the full path.

        The full path is needed when an interceptor or the key's permission must see the request, and for
        everything that is not plainly valid, so that errors come from one place.
        """
        fast = self._backend.fast_paths.get(call.operation)
        if fast is None or protocol is None or protocol.content_type is not JSON_1_1 or call.method != "POST":
            return None
        authorization = call.headers.get(b"authorization")
        if authorization is None or incomplete(authorization, dated=b"x-amz-date" in call.headers):
            return None
        caller = caller_of(authorization)
        if self._access.restricts(caller):
            return None
        watched = watched_streams(self._interceptors, call.operation)
        try:
            body = fast(call.body, _scope(caller), watched, self._record_of(call, caller) or NOBODY)
            return _Answer(200, JSON_1_1, body)
        except NotFastError:
            return None

    async def _full(self, call: _Call, protocol: WireProtocol | None) -> _Answer | _Subscription:
        if call.method != "POST" or (protocol is None and not call.operation):
            return _Answer(403, b"application/xml", _UNAUTHORISED, "AccessDeniedException")
        if protocol is None:
            return _Answer(
                404, b"application/xml", b"<UnknownOperationException/>\n", "UnknownOperationException"
            )
        operation = kinesis_model().operations.get(call.operation)
        named = call.header(b"x-amz-target").startswith(TARGET_PREFIX)
        if operation is None or not named:
            raise KinesisError("UnknownOperationException", "")
        if not call.body:
            raise KinesisError("SerializationException", "")
        _authenticate(call)
        request = protocol.read(call.body, operation.request) if operation.request else {}
        response = await self._call(call, operation, request)
        if "EventStream" in response:
            return _Subscription(protocol, response["EventStream"])
        body = protocol.write(response, operation.response) if operation.response else b""
        return _Answer(200, protocol.content_type, body)

    async def _call(self, call: _Call, operation: Operation, request: Request) -> Response:
        caller = caller_of(call.headers.get(b"authorization"), call.query)
        scope = _scope(caller)
        record = self._record_of(call, caller)
        asked = stopwatch()
        try:
            if operation.request:
                check(request, operation.request)
            self._access.check(caller, call.operation, request, scope)
            response = await call_through(self._interceptors, self._backend, call.operation, request, scope)
        except BaseException as error:
            if record is not None:
                record.note_refusal(call.operation, request, find_code(error), asked)
            raise
        if record is not None and self._recorder is not None:
            record.note_answer(call.operation, request, response, asked)
            if "EventStream" in response:
                events, tap = record.follow(request, response["EventStream"], asked), self._recorder.wiretap
                return {**response, "EventStream": tap_events(tap, request, events, record.name)}
        return response

    def _record_of(self, call: _Call, caller: Caller | None) -> ClientRecord | None:
        if self._recorder is None:
            return None
        key, agent = caller.access_key if caller else "", call.headers.get(b"user-agent", b"")
        return self._recorder.known.get((key, agent)) or self._recorder.find(key, agent)

    def _tap(self, call: _Call, reply: _Answer, came: float) -> None:
        """Hand a call to those who record what passes."""
        record = self._record_of(call, caller_of(call.headers.get(b"authorization"), call.query))
        if self._recorder is not None and record is not None:
            kind = call.header(b"content-type")
            answered = AnsweredCall(call.operation, kind, call.body, reply.status, reply.body, came)
            tap_call(self._recorder.wiretap, answered, record.name)

    def _failure(self, operation: str, error: Exception, protocol: WireProtocol | None) -> _Answer:
        trace = "".join(format_exception(error))
        self._events.emit(
            "aws.request.failed", service="kinesis", target=operation, error=repr(error), trace=trace
        )
        return _error(
            KinesisError("InternalFailure", "The request failed inside the sandbox.", 500), protocol
        )


def _authenticate(call: _Call) -> None:
    authorization = call.headers.get(b"authorization")
    presigned = b"X-Amz-Algorithm" in call.query
    if authorization is not None and presigned:
        raise KinesisError(
            "InvalidSignatureException",
            "Found both 'X-Amz-Algorithm' as a query-string param and 'Authorization' as HTTP header.",
        )
    if authorization is None and not presigned:
        raise KinesisError("MissingAuthenticationTokenException", "Missing Authentication Token")
    dated = b"x-amz-date" in call.headers or b"date" in call.headers
    lacking = (
        incomplete_query(call.query) if authorization is None else incomplete(authorization, dated=dated)
    )
    if lacking:
        raise KinesisError("IncompleteSignatureException", lacking)


def _scope(caller: Caller | None) -> Scope:
    return Scope(caller.account, caller.region) if caller else Scope(DEFAULT_ACCOUNT, DEFAULT_REGION)


def _error(error: KinesisError, protocol: WireProtocol | None) -> _Answer:
    fields = {"__type": error.code}
    if error.message:
        # AWS's parser in front of the service spells this member with a capital letter.
        fields["Message" if error.code == "SerializationException" else "message"] = error.message
    writer = protocol or protocol_of(JSON_1_1)
    assert writer is not None
    return _Answer(error.status, writer.content_type, writer.error(fields), error.code)


def _response_headers(reply: _Answer) -> Headers:
    headers = [*kinesis_ids(), (b"content-type", reply.content_type)]
    if reply.error:
        headers.append((b"x-amzn-errortype", reply.error.encode()))
    return headers


async def _send_events(subscription: _Subscription, receive: Receive, send: Send) -> None:
    """Send the events as they come, until they end or the client leaves."""
    headers = [*kinesis_ids(), (b"content-type", eventstream.CONTENT_TYPE)]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    outcome, _ = await run_until_first(_send_frames(subscription, send), wait_for_disconnect(receive))
    if isinstance(outcome, Exception):
        raise outcome


async def _send_frames(subscription: _Subscription, send: Send) -> None:
    protocol = subscription.protocol

    async def send_frame(frame: bytes) -> None:
        await send({"type": "http.response.body", "body": frame, "more_body": True})

    shapes = kinesis_model().shapes
    await send_frame(eventstream.event("initial-response", protocol.content_type, protocol.write({}, "")))
    try:
        async with aclosing(subscription.events) as events:
            async for kind, event in events:
                payload = protocol.write(event, shapes[kind].name)
                await send_frame(eventstream.event(kind, protocol.content_type, payload))
    except KinesisError as error:
        payload = protocol.error({"message": error.message})
        await send_frame(eventstream.exception(error.code, protocol.content_type, payload))
    await send({"type": "http.response.body", "body": b"", "more_body": False})
