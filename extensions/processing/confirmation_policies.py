"""How source systems are notified of the ends of their messages, as the integration file declares it."""

from __future__ import annotations

from typing import Annotated, Any, Final, Literal, TypeAlias

import msgspec

from extensions.processing.expressions import MESSAGE_FIELDS, Roots

End: TypeAlias = Literal["OK", "SKIPPED", "FAILED", "CANCEL"]
ENDS: Final[tuple[End, ...]] = ("OK", "SKIPPED", "FAILED", "CANCEL")
ANY_SOURCE: Final = "*"
"""The key for all source systems without a declaration of their own."""
ROOTS: Final[Roots] = {
    "message": frozenset(MESSAGE_FIELDS),
    "body": None,
    "result": frozenset(),
    "info": frozenset(),
    "time": frozenset(),
    "business_errors": None,
}
"""The names that the template of a confirmation can read."""
FRAMEWORK_FIELDS: Final = {
    "correlationID": "$.message.correlation",
    "timestamp": "$.time",
    "processingResult": "$.result",
    "additionalInfo": "$.info",
}
"""The fields of the framework's own confirmation service."""


class ConfirmationPolicy(msgspec.Struct, frozen=True, kw_only=True):
    """The ends that a source is notified of, how many retries there are, and the seconds between them.

    None takes the value of the parameters.
    """

    ends: tuple[End, ...] = ENDS
    retries: Annotated[int, msgspec.Meta(ge=0)] | None = None
    interval: Annotated[float, msgspec.Meta(ge=0)] | None = None


class ByLog(ConfirmationPolicy, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="log"):
    """Emit the event ``processing.confirmed`` only."""


class ByHttp(ConfirmationPolicy, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="http"):
    """Send a request to ``url``. ``body`` is a template; a text is sent as it is, other values as JSON.

    An answer of 200 to 299 within ``timeout`` seconds is a success.
    """

    url: str
    method: Literal["POST", "PUT", "PATCH"] = "POST"
    headers: dict[str, str] = {}
    body: Any = msgspec.field(default_factory=FRAMEWORK_FIELDS.copy)
    timeout: Annotated[float, msgspec.Meta(gt=0, le=30)] = 10.0


class ByRdss(ConfirmationPolicy, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="rdss"):
    """Answer an RDSS message with another one, on a stream."""

    stream: str


class ByTopic(ConfirmationPolicy, frozen=True, forbid_unknown_fields=True, tag_field="by", tag="topic"):
    """Publish to a topic; ``body`` is a template."""

    topic: str
    body: Any = msgspec.field(default_factory=FRAMEWORK_FIELDS.copy)


ConfirmBy: TypeAlias = ByLog | ByHttp | ByRdss | ByTopic
CONFIRM_BY: Final[dict[str, type[ConfirmBy]]] = {
    "log": ByLog,
    "http": ByHttp,
    "rdss": ByRdss,
    "topic": ByTopic,
}
"""The ways by the value of ``by``."""
