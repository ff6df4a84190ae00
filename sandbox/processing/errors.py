"""What can go wrong with a message, the code it is written down with, and whether trying again can help."""

from __future__ import annotations

from enum import StrEnum


class Code(StrEnum):
    """The framework's error codes, as far as messages meet them."""

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


class ProcessingError(Exception):
    """An error with a code; trying again may help."""

    code = Code.UNSPECIFIED


class TechnicalError(ProcessingError):
    """An outside system failed, or could not be reached."""

    code = Code.INPUT_OUTPUT


class LockedError(ProcessingError):
    """Another message is at the same thing just now."""

    code = Code.LOCKED


class FinalError(ProcessingError):
    """An error that no other attempt would change: the message fails at once."""


class BusinessError(FinalError):
    """An answer that the operation provides for: no such invoice, a customer that is there already."""

    code = Code.BUSINESS


class ValidationError(FinalError):
    """What came, or what an outside system was to be given, is not as it must be."""

    code = Code.VALIDATION


class NothingFoundError(FinalError):
    """What the message is about is not there."""

    code = Code.NOTHING_FOUND


class SeveralFoundError(FinalError):
    """What the message is about is there more than once."""

    code = Code.SEVERAL_FOUND


class RefusedError(ProcessingError):
    """Not accepted: nothing of it was written down, and the sender may try again."""


class ThrottledError(RefusedError):
    """Too many messages of one source and operation."""

    code = Code.THROTTLED


class StoppingError(RefusedError):
    """The process stops and takes nothing more."""

    code = Code.STOPPING


class ClaimLostError(Exception):
    """The message is no longer this worker's: its lease was over and it was taken back."""


def final_error(error: BaseException) -> FinalError | None:
    """The first error in the chain of causes that no other attempt would change."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, FinalError):
            return seen
        seen = seen.__cause__ or seen.__context__
    return None


def code_of(error: BaseException) -> Code:
    """The code that an error is written down with."""
    if isinstance(error, ProcessingError):
        return error.code
    return Code.INPUT_OUTPUT if isinstance(error, OSError) else Code.UNSPECIFIED
