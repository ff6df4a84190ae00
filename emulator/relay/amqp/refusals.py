"""Translates failures of the fault engine to AMQP reply codes (specification, section 1.2)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from emulator.faults.fault import THROTTLED, Failure


class Answer(Enum):
    """The visible effect of a failure on the client."""

    CUT = auto()
    WAIT = auto()
    RETURN = auto()
    NACK = auto()
    CHANNEL = auto()
    CONNECTION = auto()


class AmqpRefusal(NamedTuple):
    """An answer with its AMQP reply code (0 without one) and text."""

    answer: Answer
    code: int
    text: str


_CHANNEL_CODES: Final = {
    "CONTENT_TOO_LARGE": 311,
    "NO_CONSUMERS": 313,
    "ACCESS_REFUSED": 403,
    "NOT_FOUND": 404,
    "RESOURCE_LOCKED": 405,
    "PRECONDITION_FAILED": 406,
}
_CONNECTION_CODES: Final = {
    "CONNECTION_FORCED": 320,
    "INVALID_PATH": 402,
    "FRAME_ERROR": 501,
    "SYNTAX_ERROR": 502,
    "COMMAND_INVALID": 503,
    "CHANNEL_ERROR": 504,
    "UNEXPECTED_FRAME": 505,
    "RESOURCE_ERROR": 506,
    "NOT_ALLOWED": 530,
    "NOT_IMPLEMENTED": 540,
    "INTERNAL_ERROR": 541,
}
_NO_ROUTE: Final = 312
_UNKNOWN_OUTCOME: Final = 500


def refusal(failure: Failure, *, confirming: bool) -> AmqpRefusal:
    """Choose the answer to a failed call; ``confirming`` says whether the channel is in confirm mode.

    AMQP's own codes get AMQP's answer: NO_ROUTE returns the message, the others close the channel or the
    connection. Any other code below status 500 is a nack in confirm mode, and otherwise closes the channel.
    From 500 on it always closes the channel, since the outcome is then unknown to the publisher.
    """
    if failure.kind == "cut":
        return AmqpRefusal(Answer.CUT, 0, failure.message)
    if failure.code == THROTTLED:
        return AmqpRefusal(Answer.WAIT, 0, failure.message)
    return _refusal_by_code(failure.code, failure.message) or _refusal_by_status(
        failure, confirming=confirming
    )


def _refusal_by_code(code: str, text: str) -> AmqpRefusal | None:
    if code == "NO_ROUTE":
        return AmqpRefusal(Answer.RETURN, _NO_ROUTE, code)
    if code in _CHANNEL_CODES:
        return AmqpRefusal(Answer.CHANNEL, _CHANNEL_CODES[code], f"{code} - {text}")
    if code in _CONNECTION_CODES:
        return AmqpRefusal(Answer.CONNECTION, _CONNECTION_CODES[code], f"{code} - {text}")
    return None


def _refusal_by_status(failure: Failure, *, confirming: bool) -> AmqpRefusal:
    told = f"{failure.code}: {failure.message}"
    if failure.status >= _UNKNOWN_OUTCOME:
        return AmqpRefusal(Answer.CHANNEL, _CONNECTION_CODES["INTERNAL_ERROR"], f"INTERNAL_ERROR - {told}")
    if confirming:
        return AmqpRefusal(Answer.NACK, 0, told)
    return AmqpRefusal(Answer.CHANNEL, _CHANNEL_CODES["PRECONDITION_FAILED"], f"PRECONDITION_FAILED - {told}")
