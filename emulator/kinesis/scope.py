"""An account in a region, which streams belong to, and the ARNs of what is in it."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

_STREAM_ARN = re.compile(r"arn:aws[^:]*:kinesis:([^:]*):(\d{12}):stream/([a-zA-Z0-9_.-]+)\Z")
_CONSUMER_ARN = re.compile(
    r"(arn:aws[^:]*:kinesis:([^:]*):(\d{12}):stream/([a-zA-Z0-9_.-]+))/consumer/([a-zA-Z0-9_.-]+):(\d+)\Z"
)
_PARTITIONS = {"cn-": "aws-cn", "us-gov-": "aws-us-gov"}


class Scope(NamedTuple):
    """The account (12 digits) and the region of a request."""

    account: str
    region: str

    def stream_arn(self, name: str) -> str:
        partition = next((p for start, p in _PARTITIONS.items() if self.region.startswith(start)), "aws")
        return f"arn:{partition}:kinesis:{self.region}:{self.account}:stream/{name}"


class ConsumerName(NamedTuple):
    """The parts of a consumer's ARN: its stream's ARN, its name, and when it was registered (seconds)."""

    stream_arn: str
    name: str
    created: int


def stream_of(arn: str) -> tuple[Scope, str] | None:
    """The scope and name in a stream's ARN; None when it is not one."""
    found = _STREAM_ARN.match(arn)
    return (Scope(found[2], found[1]), found[3]) if found else None


def named(request: dict[str, Any], scope: Scope) -> tuple[str, str]:
    """The account and the name of the stream that a request means. The stream need not exist."""
    found = stream_of(request.get("StreamARN") or "")
    return (found[0].account, found[1]) if found else (scope.account, request.get("StreamName") or "")


def consumer_of(arn: str) -> ConsumerName | None:
    """The parts of a consumer's ARN; None when it is not one."""
    found = _CONSUMER_ARN.match(arn)
    return ConsumerName(found[1], found[5], int(found[6])) if found else None


def stream_named(request: dict[str, Any]) -> str | None:
    """The stream that a request names, by name, ARN or a consumer's ARN; None when it names none."""
    if name := request.get("StreamName"):
        return str(name)
    arn = request.get("StreamARN")
    if not arn and (consumer := consumer_of(request.get("ConsumerARN") or "")):
        arn = consumer.stream_arn
    found = stream_of(arn or "")
    return found[1] if found else None
