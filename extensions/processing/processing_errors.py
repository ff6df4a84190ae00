"""The errors of asynchronous processing, with their codes; some are final, the others are retried."""

from __future__ import annotations

from enum import StrEnum

from emulator.assembly.component import CannotRunError


class ProcessingCode(StrEnum):
    """The framework's error codes that a message can get."""

    UNSPECIFIED = "E100"
    VALIDATION = "E102"
    INPUT_OUTPUT = "E103"
    NO_TRACE_HEADER = "E104"
    TRACE_INCOMPLETE = "E105"
    NOT_SAVED = "E106"
    NOTHING_FOUND = "E107"
    SEVERAL_FOUND = "E108"
    BUSINESS = "E109"
    LOCKED = "E112"
    THROTTLED = "E114"
    STUCK = "E116"
    STOPPING = "E119"
    NOT_ALLOWED = "E120"
    POSTPONED_TOO_LONG = "E121"


class IntegrationError(CannotRunError, ValueError):
    """The integration file is not valid. The text gives the file, the line, what is wrong and a remedy."""


class ProcessingError(Exception):
    """An error with a code; another attempt may succeed."""

    code = ProcessingCode.UNSPECIFIED


class TechnicalError(ProcessingError):
    """An outside system failed or could not be reached."""

    code = ProcessingCode.INPUT_OUTPUT


class LockedError(ProcessingError):
    """Another message is making the same call."""

    code = ProcessingCode.LOCKED


class FinalError(ProcessingError):
    """An error that another attempt would repeat: the message fails at once."""


class BusinessError(FinalError):
    """An expected negative answer of the operation, such as an unknown invoice or a duplicate customer."""

    code = ProcessingCode.BUSINESS


class ValidationError(FinalError):
    """The message, or a request made from it, is not valid."""

    code = ProcessingCode.VALIDATION


class NothingFoundError(FinalError):
    """The object of the message does not exist."""

    code = ProcessingCode.NOTHING_FOUND


class SeveralFoundError(FinalError):
    """The object of the message exists more than once."""

    code = ProcessingCode.SEVERAL_FOUND


class NotAcceptedError(ProcessingError):
    """The message was not accepted and not stored; the sender may try again."""


class ThrottledError(NotAcceptedError):
    """One source sent too many messages of one operation."""

    code = ProcessingCode.THROTTLED


class StoppingError(NotAcceptedError):
    """The process is stopping and accepts no messages."""

    code = ProcessingCode.STOPPING


class ClaimLostError(Exception):
    """This worker lost the message: its lease expired and another process freed it."""


def final_error(error: BaseException) -> FinalError | None:
    """The first FinalError in the chain of causes; None when there is none."""
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, FinalError):
            return cause
        cause = cause.__cause__ or cause.__context__
    return None


def code_of(error: BaseException) -> ProcessingCode:
    """The code that the store records for an error."""
    if isinstance(error, ProcessingError):
        return error.code
    return ProcessingCode.INPUT_OUTPUT if isinstance(error, OSError) else ProcessingCode.UNSPECIFIED
