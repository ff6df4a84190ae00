"""Translates failures of the fault engine to AMQP reply codes (specification, section 1.2)."""

from __future__ import annotations

from enum import Enum, auto
from typing import Final, NamedTuple

from emulator.amqp.refusals import CODES
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


_CHANNEL_CODES: Final = frozenset({311, 313, 403, 404, 405, 406})
"""The codes that close a channel; the others close the connection."""
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


def _refusal_by_code(name: str, text: str) -> AmqpRefusal | None:
    code = CODES.get(name)
    if code is None:
        return None
    if name == "NO_ROUTE":
        return AmqpRefusal(Answer.RETURN, code, name)
    answer = Answer.CHANNEL if code in _CHANNEL_CODES else Answer.CONNECTION
    return AmqpRefusal(answer, code, f"{name} - {text}")


def _refusal_by_status(failure: Failure, *, confirming: bool) -> AmqpRefusal:
    text = f"{failure.code}: {failure.message}"
    if failure.status >= _UNKNOWN_OUTCOME:
        return AmqpRefusal(Answer.CHANNEL, CODES["INTERNAL_ERROR"], f"INTERNAL_ERROR - {text}")
    if confirming:
        return AmqpRefusal(Answer.NACK, 0, text)
    return AmqpRefusal(Answer.CHANNEL, CODES["PRECONDITION_FAILED"], f"PRECONDITION_FAILED - {text}")
