"""Which action a request to a service other than Kinesis is for, and AWS's answer to a key that may not."""

from __future__ import annotations

from typing import Final, NamedTuple
from urllib.parse import parse_qs

import msgspec

from emulator.events import Events
from emulator.listeners.aws.credentials import Caller
from emulator.listeners.aws.error_bodies import service_error
from emulator.listeners.aws.s3_answers import Reply, with_ids
from emulator.listeners.aws.stream_access import StreamAccess, describe_denial

_POLICY_NAMES: Final = {"monitoring": "cloudwatch"}
"""The services that policies name otherwise than signatures do."""
_UNKNOWN_KEY: Final = "The security token included in the request is invalid."


class _Refusal(NamedTuple):
    """How a service refuses: the status and code for a missing permission, and those for an unknown key."""

    status: int
    denied: str
    unknown_status: int = 403
    unknown: str = "InvalidClientTokenId"
    said: str = _UNKNOWN_KEY


_REFUSALS: Final = {
    "s3": _Refusal(
        403,
        "AccessDenied",
        unknown="InvalidAccessKeyId",
        said="The AWS Access Key Id you provided does not exist in our records.",
    ),
    "dynamodb": _Refusal(400, "AccessDeniedException", 400, "UnrecognizedClientException"),
    "ssm": _Refusal(400, "AccessDeniedException", 400, "UnrecognizedClientException"),
    "sns": _Refusal(403, "AuthorizationError"),
}
_OTHERS: Final = _Refusal(403, "AccessDenied")


_OF_BUCKETS: Final = {"HEAD": "ListBucket", "POST": "DeleteObject"}
"""The actions of requests to a bucket that moto's table has otherwise, or not at all."""


class PolicyAction(NamedTuple):
    """An action as a policy names it, without its service, and the ARN of its resource; ``*`` if none."""

    name: str
    resource: str


class Asked(NamedTuple):
    """What a request says of its action. ``path`` is not quoted; ``body`` is needed of a form alone."""

    method: str
    path: str
    query: str
    headers: dict[bytes, bytes]
    body: bytes


class _NamedResource(msgspec.Struct, frozen=True):
    """The fields of a JSON request that name its resource."""

    table: str = msgspec.field(default="", name="TableName")
    queue_url: str = msgspec.field(default="", name="QueueUrl")
    queue: str = msgspec.field(default="", name="QueueName")


class ServiceAccess:
    """Refuses the requests that the permissions in ``access`` do not allow."""

    def __init__(self, access: StreamAccess, events: Events) -> None:
        self._access = access
        self._events = events

    def restricts(self, caller: Caller | None) -> bool:
        """Whether this caller's requests have to be checked."""
        return self._access.restricts(caller)

    def refuse(self, caller: Caller, asked: Asked) -> Reply | None:
        """The answer to a request that is not allowed, and an event of it; None for one that is allowed."""
        service = _POLICY_NAMES.get(caller.service, caller.service)
        action = find_action(service, asked, caller)
        if self._access.allows_service(caller, service, action.name):
            return None
        name, resource = f"{service}:{action.name}", action.resource
        self._events.emit("access.denied", access_key=caller.access_key, operation=name, resource=resource)
        refusal = _REFUSALS.get(service, _OTHERS)
        if self._access.knows(caller):
            text = describe_denial(caller.account, caller.access_key, name, resource)
            return _reply(service, asked, refusal.status, refusal.denied, text)
        return _reply(service, asked, refusal.unknown_status, refusal.unknown, refusal.said)


def _reply(service: str, asked: Asked, status: int, code: str, text: str) -> Reply:
    reply = Reply(status, *service_error(service, asked.headers, code, text))
    if service == "s3":
        reply = with_ids(reply)
        return reply._replace(body=b"") if asked.method == "HEAD" else reply
    # botocore takes the code of services that once spoke the query protocol from here.
    return reply._replace(headers=[*reply.headers, (b"x-amzn-query-error", f"{code};Sender".encode())])


def find_action(service: str, asked: Asked, caller: Caller) -> PolicyAction:
    """The action of a request, by its target, its form, or its method and path."""
    if service == "s3":
        return _find_s3_action(asked)
    name = asked.headers.get(b"x-amz-target", b"").decode("latin-1").rpartition(".")[2]
    if not name and "/operation/" in asked.path:
        name = asked.path.rpartition("/operation/")[2]
    if not name:
        given = parse_qs(f"{asked.query}&{asked.body.decode('latin-1')}")
        name = given.get("Action", [""])[-1]
    resource = _find_resource(service, asked, caller)
    # As in AWS, whose policies and errors know no batches of SQS, and write its actions in lower case.
    return PolicyAction(name.removesuffix("Batch").lower() if service == "sqs" else name, resource)


def _find_resource(service: str, asked: Asked, caller: Caller) -> str:
    """The ARN of the table or queue that a request names."""
    try:
        given = msgspec.json.decode(asked.body, type=_NamedResource)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return "*"
    arn = f"arn:aws:{service}:{caller.region}:{caller.account}:"
    if service == "dynamodb" and given.table:
        return f"{arn}table/{given.table}"
    queue = given.queue_url.rpartition("/")[2] or given.queue
    return f"{arn}{queue}" if service == "sqs" and queue else "*"


def _find_s3_action(asked: Asked) -> PolicyAction:
    """As AWS maps requests to the actions of its policies, by moto's own table."""
    from moto.s3.responses import ACTION_MAP

    bucket, _, key = asked.path.lstrip("/").partition("/")
    if not bucket:
        return PolicyAction("ListAllMyBuckets", "*")
    resource = f'"arn:aws:s3:::{bucket}/{key}"' if key else f'"arn:aws:s3:::{bucket}"'
    if not key and asked.method in _OF_BUCKETS:
        return PolicyAction(_OF_BUCKETS[asked.method], resource)
    names: dict[str, str] = ACTION_MAP["KEY" if key else "BUCKET"].get(asked.method, {})
    given = parse_qs(asked.query, keep_blank_values=True)
    found = next((names[each] for each in given if each in names), names.get("DEFAULT", ""))
    return PolicyAction(found, resource)
