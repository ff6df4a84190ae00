"""What a person is told who has reached a limit of their seat, in AWS's own errors."""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

import msgspec

from emulator.http.admission.guard import Response
from emulator.listeners.aws.error_bodies import service_error
from extensions.hub.message_counts import count_messages, read_operation
from extensions.hub.seats import Seat
from rdss_sandbox.admission import HeaderMap
from rdss_sandbox.shapes.refusals import Problem, Refusal

_THROTTLED: Final = {
    "kinesis": (HTTPStatus.BAD_REQUEST, "ProvisionedThroughputExceededException"),
    "dynamodb": (HTTPStatus.BAD_REQUEST, "ProvisionedThroughputExceededException"),
    "s3": (HTTPStatus.SERVICE_UNAVAILABLE, "SlowDown"),
    "sqs": (HTTPStatus.FORBIDDEN, "RequestThrottled"),
    "sns": (HTTPStatus.TOO_MANY_REQUESTS, "Throttled"),
    "lambda": (HTTPStatus.TOO_MANY_REQUESTS, "TooManyRequestsException"),
}
_ANY: Final = (HTTPStatus.BAD_REQUEST, "ThrottlingException")
_WRITES_OBJECTS: Final = frozenset({"PUT", "POST"})


def refuse_call(seat: Seat, service: str, method: str, headers: HeaderMap, body: bytes) -> Response | None:
    """AWS's error for a call beyond a limit of the seat; None where there is room for it."""
    quota = seat.quota
    if quota.connections and seat.calls > quota.connections:
        return _refuse(seat, service, headers, f"{quota.connections} connections are open")
    if seat.allowance is None and not seat.is_full:
        return None
    if service == "s3":
        count = int(method in _WRITES_OBJECTS)
    else:
        count = count_messages(read_operation(headers.get(b"x-amz-target", b""), body), body)
    if count and seat.is_full:
        return _refuse(seat, service, headers, seat.is_full)
    if count and seat.allowance is not None and not seat.allowance.spend(count):
        return _refuse(seat, service, headers, f"{quota.messages} messages a second are sent")
    return None


def refuse_request(seat: Seat) -> Response | None:
    """The refusal of a request to another port than AWS's; None where there is room for it."""
    most = seat.quota.connections
    if not most or seat.calls <= most:
        return None
    seat.refused += 1
    problem = Problem("over_quota", _explain(seat, f"{most} connections are open"))
    body = msgspec.json.encode(Refusal(problem))
    return Response(HTTPStatus.TOO_MANY_REQUESTS, [(b"content-type", b"application/json")], body)


def _refuse(seat: Seat, service: str, headers: HeaderMap, why: str) -> Response:
    seat.refused += 1
    status, code = _THROTTLED.get(service, _ANY)
    return Response(status, *service_error(service, headers, code, _explain(seat, why)))


def _explain(seat: Seat, why: str) -> str:
    return f"Rate exceeded for {seat.name}: {why}, which is the quota of this hub. Try again later."
