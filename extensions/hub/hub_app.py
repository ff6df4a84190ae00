"""The hub's HTTP port: it finds out whose a request is, and passes it on to that person's sandbox.

    a request of AWS       by its access key, its session token, or those of a presigned URL
    /hub                   the hub's own pages and API, for the admin's token
    /seat/NAME/...         the control API of NAME
    /PORT/NAME/...         a port of NAME by its name: queues, topics, amqp-management, aws
    NAME.host              the control API and the pages of NAME
    PORT.NAME.host         a port of NAME

All but the first need the person's token or the admin's, as the port behind takes it, or a proxy's sign-on.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Iterable
from dataclasses import replace
from functools import lru_cache
from http import HTTPStatus
from typing import Final, NamedTuple

import msgspec

from emulator.http.admission.access_policies import AMQP_MANAGEMENT, CONTROL
from emulator.http.admission.guard import AccessPolicy, Response
from emulator.http.asgi import (
    App,
    ClientGoneError,
    Headers,
    HttpScope,
    Message,
    Receive,
    Send,
    answer,
    whole_body,
)
from emulator.listeners.aws.access_policy import AWS, AWS_HEALTH_PATHS
from emulator.listeners.aws.credentials import caller_of
from emulator.listeners.aws.error_bodies import service_error
from emulator.listeners.control.watch.page_access import admit_pages
from emulator.relay.aws.connections import UpstreamLostError, UpstreamReply, UpstreamUnreachableError
from emulator.relay.aws.passing_on import (
    DROPPED_FROM_ANSWERS,
    HOP_BY_HOP,
    remaining_body,
    stream_reply,
)
from extensions.hub.people import SignOn
from extensions.hub.quotas import refuse_call, refuse_request
from extensions.hub.seats import Seat, SeatNotStartedError, Seats
from rdss_sandbox.admission import HeaderMap, foreign_page, host_name, is_ambiguous
from rdss_sandbox.api.course_report import LearnerProgress
from rdss_sandbox.shapes.course_report import CourseReport
from rdss_sandbox.shapes.refusals import Problem, Refusal

_PATH: Final = re.compile(r"/([a-z][a-z0-9-]*)/([a-z0-9-]+)(/.*)?")
_OF_AWS: Final = (b"AWS4-", b"AWS ")
_PRESIGNED: Final = (b"X-Amz-Credential=", b"AWSAccessKeyId=")
_OF_PAGES: Final = frozenset({b"origin", b"referer", b"sec-fetch-site"})
_FRAMING: Final = frozenset({b"content-length", b"transfer-encoding"})
_STATUS: Final = "/status"
_NO_SUCH: Final = (
    "there is nothing at {}: this is a hub. A person's sandbox is at /seat/NAME, the list of all at /hub"
)


class SeatPlace(NamedTuple):
    """Where a request goes: a port of a seat, and the path and target there."""

    seat: Seat
    port: str
    path: str
    target: bytes


class _Request(NamedTuple):
    """A request for a seat, with the headers that the seat gets, and the first of its body."""

    place: SeatPlace
    method: str
    headers: Headers
    first: Message


class HubApp:
    """Routes requests to the seats. ``own`` answers what is below /hub, and refuses what is not the admin's.

    ``hosts`` are the names under which the hub is called, ``amqp_port`` is its other port. ``secure`` says
    that both speak TLS.
    """

    own: App
    amqp_port: int

    def __init__(self, seats: Seats, admin: str, hosts: frozenset[str], *, secure: bool = False) -> None:
        self._seats = seats
        self._scheme, self._amqp_scheme = ("https", "amqps") if secure else ("http", "amqp")
        self._admin = admin.encode()
        self._hosts = hosts

    async def __call__(self, scope: HttpScope, receive: Receive, send: Send) -> None:
        headers: HeaderMap = dict(scope["headers"])
        if len(headers) != len(scope["headers"]) and is_ambiguous(scope["headers"]):
            await answer(send, HTTPStatus.BAD_REQUEST, [(b"content-length", b"0")], b"")
        elif foreign_page(headers, self._scheme):
            await answer(send, HTTPStatus.FORBIDDEN, [(b"content-length", b"0")], b"")
        elif _is_of_aws(scope, headers):
            await self._pass_call(scope, headers, receive, send)
        else:
            await self._pass_request(scope, headers, receive, send)

    # -- AWS

    async def _pass_call(self, scope: HttpScope, headers: HeaderMap, receive: Receive, send: Send) -> None:
        caller = caller_of(headers.get(b"authorization"), scope["query_string"])
        service = caller.service if caller else "s3"
        seat = self._seats.find(AWS.given(scope, headers))
        if seat is None:
            await answer(send, *AWS.needs_token(scope, headers))
            return
        with seat.in_use():
            first = await _receive_first(receive)
            refused = refuse_call(seat, service, scope["method"], headers, first["body"])
            if refused is not None:
                await answer(send, *refused)
                return
            place = SeatPlace(seat, "aws", scope["path"], _target_of(scope, scope["raw_path"]))
            kept = [header for header in scope["headers"] if header[0] not in HOP_BY_HOP]
            await self._pass_on(_Request(place, scope["method"], kept, first), receive, send)

    # -- the rest

    async def _pass_request(self, scope: HttpScope, headers: HeaderMap, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        place = self.find_place(scope, headers)
        if place is None:
            if path == "/hub" or path.startswith("/hub/"):
                await self.own(scope, receive, send)
            elif path == "/" and (seat := self._seat_signed_on(scope, headers)) is not None:
                host = headers.get(b"host", b"")
                there = self._scheme.encode() + b"://" + seat.name.encode() + b"." + host + b"/"
                await answer(send, HTTPStatus.SEE_OTHER, [(b"location", there)], b"")
            elif path in AWS_HEALTH_PATHS and scope["method"] == "GET":
                body = b'{"status":"ok","edition":"hub"}'
                await answer(send, HTTPStatus.OK, [(b"content-type", b"application/json")], body)
            else:
                await answer(send, *_refuse_unknown(path))
            return
        if (refused := self.refuse_stranger(place, scope, headers)) is not None:
            await answer(send, *refused)
            return
        if scope["method"] == "PUT" and (place.port, place.path) == ("control", LearnerProgress.at):
            await _note_course(place.seat, receive, send)
            return
        with place.seat.in_use():
            if (refused := refuse_request(place.seat)) is not None:
                await answer(send, *refused)
                return
            dropped = HOP_BY_HOP | _OF_PAGES
            kept = [header for header in scope["headers"] if header[0] not in dropped]
            if place.port == "control":
                kept = [header for header in kept if header[0] != b"authorization"]
                kept.append((b"authorization", b"Bearer " + place.seat.person.token.encode()))
            first = await _receive_first(receive)
            await self._pass_on(_Request(place, scope["method"], kept, first), receive, send)

    def find_place(self, scope: HttpScope, headers: HeaderMap) -> SeatPlace | None:
        """Whose port a request is for that is none of AWS's; None where it is nobody's."""
        return self._find_by_host(scope, headers) or self._find_by_path(scope)

    def _find_by_host(self, scope: HttpScope, headers: HeaderMap) -> SeatPlace | None:
        name = host_name(headers.get(b"host", b""))
        host = next((each for each in self._hosts if name.endswith(f".{each}")), None)
        if host is None:
            return None
        port, _, person = name.removesuffix(f".{host}").rpartition(".")
        seat = self._seats.by_name.get(person)
        if seat is None:
            return None
        return SeatPlace(seat, port or "control", scope["path"], _target_of(scope, scope["raw_path"]))

    def _find_by_path(self, scope: HttpScope) -> SeatPlace | None:
        found = _PATH.fullmatch(scope["path"])
        if found is None or (seat := self._seats.by_name.get(found[2])) is None:
            return None
        port = "control" if found[1] == "seat" else found[1]
        # A name has no character that is quoted in a path.
        below = scope["raw_path"].split(b"/", 3)
        raw = b"/" + (below[3] if len(below) > 3 else b"")
        return SeatPlace(seat, port, found[3] or "/", _target_of(scope, raw))

    def refuse_stranger(self, place: SeatPlace, scope: HttpScope, headers: HeaderMap) -> Response | None:
        """What is answered to one who has neither the person's token nor the admin's; None to one who has."""
        token = place.seat.person.token
        policy = _policy_of(place.port, token)
        seen = {**scope, "path": place.path}
        allowed = (token.encode(), self._admin)
        for given in policy.given(seen, headers):
            if any(hmac.compare_digest(given, each) for each in allowed):
                return None
        if self._signed_on(scope, headers) == place.seat.name:
            return None
        return policy.needs_token(seen, headers)

    def _seat_signed_on(self, scope: HttpScope, headers: HeaderMap) -> Seat | None:
        """The seat of the person of whom a proxy says that they call, who is added where that may be."""
        name, sign_on = self._signed_on(scope, headers), self._seats.file.people.sign_on
        if name and name not in self._seats.by_name and sign_on is not None and sign_on.add:
            return self._seats.add(name)
        return self._seats.by_name.get(name or "")

    def _signed_on(self, scope: HttpScope, headers: HeaderMap) -> str | None:
        """The name of the person of whom a proxy says that they call; None where no proxy does."""
        sign_on: SignOn | None = self._seats.file.people.sign_on
        client = scope.get("client")
        if sign_on is None or not client or client[0] not in sign_on.proxies:
            return None
        said = headers.get(sign_on.header.lower().encode(), b"").decode("latin-1")
        return name_of(said) if said else None

    # -- on to the sandbox

    async def _pass_on(self, request: _Request, receive: Receive, send: Send) -> None:
        place = request.place
        try:
            reply = await self._ask(request, receive)
        except SeatNotStartedError as error:
            await answer(send, *_refuse_unstarted(request, str(error)))
            return
        except UpstreamLostError as error:
            raise ClientGoneError from error
        if reply is None:
            await answer(send, *_refuse_unknown(f"{place.port} of {place.seat.name}"))
            return
        answered = [header for header in reply.headers if header[0] not in DROPPED_FROM_ANSWERS]
        if place.port == "control" and place.path == _STATUS and reply.status == HTTPStatus.OK:
            status = msgspec.json.decode(await reply.whole())
            status |= self._addresses_of(place.seat, request.headers)
            answered = [header for header in answered if header[0] != b"content-length"]
            await answer(send, reply.status, answered, msgspec.json.encode(status))
            return
        if reply.complete:
            await answer(send, reply.status, answered, await reply.whole())
            return
        await send({"type": "http.response.start", "status": reply.status, "headers": answered})
        await stream_reply(reply, receive, send)

    def _addresses_of(self, seat: Seat, headers: Headers) -> dict[str, object]:
        """The addresses in the status of a seat, as who asks by this Host header reaches them."""
        called = next((value for name, value in headers if name == b"host"), b"").decode("latin-1")
        hub = f"{self._scheme}://{called.removeprefix(f'{seat.name}.')}"
        name = host_name(called.encode("latin-1")).removeprefix(f"{seat.name}.")
        ports = seat.running.ports if seat.running is not None else {}
        return {
            "aws": hub,
            "control": f"{hub}/seat/{seat.name}",
            "amqp": f"{self._amqp_scheme}://{seat.name}:{seat.person.token}@{name}:{self.amqp_port}/",
            "amqp_management": f"{hub}/amqp-management/{seat.name}",
            "ports": {port: f"{hub}/{port}/{seat.name}" for port in ports},
        }

    async def _ask(self, request: _Request, receive: Receive) -> UpstreamReply | None:
        """The answer of the sandbox, which is woken; None where it has no such port.

        One that has just died is woken again: the request has not reached it.
        """
        place, headers, body = request.place, request.headers, request.first["body"]
        rest = remaining_body(receive) if request.first["more_body"] else None
        if rest is None:
            headers = [header for header in headers if header[0] not in _FRAMING]
            headers.append((b"content-length", b"%d" % len(body)))
        elif not any(name in _FRAMING for name, _ in headers):
            headers.append((b"transfer-encoding", b"chunked"))
        if self._scheme == "https":
            headers.append((b"x-forwarded-proto", b"https"))
        while True:
            await self._seats.wake(place.seat)
            connections = place.seat.connections_to(place.port)
            if connections is None:
                return None
            try:
                return await connections.ask(request.method, place.target, headers, body, rest)
            except UpstreamUnreachableError:
                await place.seat.wait_for_end()


async def _note_course(seat: Seat, receive: Receive, send: Send) -> None:
    """Take a learner's report, for which no sandbox is woken."""
    try:
        report = msgspec.json.decode(await whole_body(receive), type=CourseReport)
    except msgspec.DecodeError as error:
        await answer(send, *_refuse(HTTPStatus.BAD_REQUEST, Problem("bad_request", str(error))))
        return
    seat.note_course(report)
    await answer(send, HTTPStatus.OK, [(b"content-type", b"application/json")], msgspec.json.encode(report))


def name_of(identity: str) -> str:
    """A name for whom an identity provider names: ``Anna.Berg@example.org`` is anna-berg."""
    return re.sub(r"[^a-z0-9]+", "-", identity.partition("@")[0].lower()).strip("-")[:40].strip("-")


def _is_of_aws(scope: HttpScope, headers: HeaderMap) -> bool:
    """Whether a request is signed as AWS's are, or has a session token of AWS."""
    query: bytes = scope["query_string"]
    return (
        headers.get(b"authorization", b"").startswith(_OF_AWS)
        or b"x-amz-security-token" in headers
        or any(each in query for each in _PRESIGNED)
    )


async def _receive_first(receive: Receive) -> Message:
    first = await receive()
    if first["type"] == "http.disconnect":
        raise ClientGoneError
    return first


def _target_of(scope: HttpScope, raw_path: bytes) -> bytes:
    query: bytes = scope["query_string"]
    return raw_path + (b"?" + query if query else b"")


@lru_cache(maxsize=1024)
def _policy_of(port: str, token: str) -> AccessPolicy:
    """How clients of a port send the token."""
    if port == "control":
        return admit_pages(CONTROL, token)
    return AWS if port == "aws" else _OF_EXTENSIONS


def _given_to_extensions(scope: HttpScope, headers: HeaderMap) -> Iterable[bytes]:
    """As a bearer, as a password, or as the clients of queues send it."""
    yield from AMQP_MANAGEMENT.given(scope, headers)
    yield headers.get(b"x-auth-token", b"")


_OF_EXTENSIONS: Final = replace(CONTROL, given=_given_to_extensions, is_open=lambda _: False)


def _refuse_unknown(where: str) -> Response:
    return _refuse(HTTPStatus.NOT_FOUND, Problem("not_found", _NO_SUCH.format(where)))


def _refuse_unstarted(request: _Request, why: str) -> Response:
    """What a client is told whose sandbox does not start, on AWS's port as AWS says it."""
    said = f"the sandbox of {request.place.seat.name} cannot be had: {why}"
    if request.place.port != "aws":
        return _refuse(HTTPStatus.SERVICE_UNAVAILABLE, Problem("not_started", said))
    headers = dict(request.headers)
    caller = caller_of(headers.get(b"authorization"))
    error = service_error(caller.service if caller else "s3", headers, "ServiceUnavailable", said)
    return Response(HTTPStatus.SERVICE_UNAVAILABLE, *error)


def _refuse(status: HTTPStatus, problem: Problem) -> Response:
    return Response(status, [(b"content-type", b"application/json")], msgspec.json.encode(Refusal(problem)))
