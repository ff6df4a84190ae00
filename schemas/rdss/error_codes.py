"""The 14 error codes of the specification ("Error Codes"), each with the queue for its messages.

A message that cannot be processed goes to the Invalid Message Queue. A message
that met an infrastructure failure, was too large or had expired goes to the Error
Message Queue ("Error Queues").
"""

from __future__ import annotations

from enum import ReprEnum, StrEnum
from typing import Self

from schemas.contract import Code


class Queue(StrEnum):
    """A queue for messages with an error; the value is also the default name of its stream."""

    ERROR = "error"
    INVALID = "invalid"


class ErrorCode(Code, ReprEnum):
    """One of the 14 codes; ``str(code)`` is the value of the ``errorCode`` header.

    >>> ErrorCode("GENERR010").queue
    <Queue.INVALID: 'invalid'>
    """

    queue: Queue

    def __new__(cls, code: str, description: str, queue: Queue) -> Self:
        member = Code.__new__(cls, code)
        member._value_ = code
        member.description = description
        member.queue = queue
        return member

    GENERR001 = "GENERR001", "The message body is not in the expected form.", Queue.INVALID
    GENERR002 = "GENERR002", "The messageType is not supported.", Queue.INVALID
    GENERR003 = "GENERR003", "The message had expired when its delivery was attempted.", Queue.ERROR
    GENERR004 = "GENERR004", "A message header is invalid, missing or corrupt.", Queue.INVALID
    GENERR005 = "GENERR005", "The message could not be sent within the permitted retries.", Queue.ERROR
    GENERR006 = "GENERR006", "The underlying system failed.", Queue.ERROR
    GENERR007 = "GENERR007", "The message is not well-formed JSON.", Queue.INVALID
    GENERR008 = "GENERR008", "A transaction could not be rolled back.", Queue.ERROR
    GENERR009 = "GENERR009", "An unexpected or unknown error occurred.", Queue.ERROR
    GENERR010 = "GENERR010", "A UUID in the message is invalid.", Queue.INVALID
    APPERRMET001 = "APPERRMET001", "The objectUUID to update does not exist.", Queue.INVALID
    APPERRMET002 = "APPERRMET002", "The objectUUID to delete does not exist.", Queue.INVALID
    APPERRMET003 = "APPERRMET003", "The objectUUID to read does not exist.", Queue.INVALID
    APPERRMET004 = "APPERRMET004", "The checksum of a file in the message is wrong.", Queue.INVALID
