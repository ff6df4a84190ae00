"""How source systems are told how their messages ended, as the integration file declares it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from sandbox.processing.expressions import MESSAGE, Roots

End: TypeAlias = Literal["OK", "SKIPPED", "FAILED", "CANCEL"]
ENDS: Final[tuple[End, ...]] = ("OK", "SKIPPED", "FAILED", "CANCEL")
EVERYBODY: Final = "*"
"""Whoever has no way of their own."""
ROOTS: Final[Roots] = {
    "message": frozenset(MESSAGE),
    "body": None,
    "result": frozenset(),
    "info": frozenset(),
    "time": frozenset(),
    "business_errors": None,
}
"""What the template of a confirmation sees of the end that it tells of."""
PUBLISHED: Final = {
    "correlationID": "$.message.correlation",
    "timestamp": "$.time",
    "processingResult": "$.result",
    "additionalInfo": "$.info",
}
"""The fields of the framework's own confirmation service."""


class Telling(msgspec.Struct, frozen=True, kw_only=True):
    """Which ends a source is told of, how often that is tried again, and after how many seconds.

    None is what the parameters say.
    """

    ends: tuple[End, ...] = ENDS
    retries: Annotated[int, msgspec.Meta(ge=0)] | None = None
    interval: Annotated[float, msgspec.Meta(ge=0)] | None = None


class ByLog(Telling, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="log"):
    """Say so in the event ``processing.confirmed``, and tell nobody."""


class ByHttp(Telling, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="http"):
    """Send a request to ``url``; ``body`` is a template, sent as it is if it makes a text, else as JSON.

    An answer of 200 to 299 within ``timeout`` seconds means that it was heard.
    """

    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = {}
    body: Any = msgspec.field(default_factory=PUBLISHED.copy)
    timeout: Annotated[float, msgspec.Meta(gt=0, le=30)] = 10.0


class ByRdss(Telling, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="rdss"):
    """Answer an RDSS message with one, on a stream."""

    stream: str


class ByTopic(Telling, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="topic"):
    """Publish to a topic; ``body`` is a template."""

    topic: str
    body: Any = msgspec.field(default_factory=PUBLISHED.copy)


Way: TypeAlias = ByLog | ByHttp | ByRdss | ByTopic
WAYS: Final[dict[str, type[Way]]] = {"log": ByLog, "http": ByHttp, "rdss": ByRdss, "topic": ByTopic}
"""By what a way says that it tells by."""
