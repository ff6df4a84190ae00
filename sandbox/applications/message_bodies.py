"""Checked access to the body of a message for applications."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from sandbox.download.remote_file import RemoteFile, files_of
from sandbox.receiver import ApplicationError, Arrival
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.sequence import SequenceError, body_of
from schemas.rdss.validation import is_valid

JSON = dict[str, Any]
_decode: Final = msgspec.json.Decoder().decode


def body_in(arrival: Arrival) -> JSON:
    """Decode the body. Raises ``ApplicationError`` (GENERR001) where it is not an object."""
    try:
        body = _decode(body_of(arrival.data))
    except (SequenceError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ApplicationError(ErrorCode.GENERR001, f"the body cannot be read: {error}") from error
    if not isinstance(body, dict):
        kind = arrival.header.message_type
        raise ApplicationError(ErrorCode.GENERR001, f"the body of a {kind} must be an object")
    return body


def uuid_in(body: JSON, name: str) -> str:
    """The value of a required text field. Raises ``ApplicationError`` (GENERR001)."""
    value = body.get(name)
    if not isinstance(value, str):
        raise ApplicationError(ErrorCode.GENERR001, f"/messageBody/{name} is required and no text is there")
    return value


def files_in(body: JSON) -> list[RemoteFile]:
    """The files of an object. Raises ``ApplicationError`` (GENERR001) where a description is invalid."""
    files = body.get("objectFile", [])
    if not isinstance(files, list) or not all(is_valid("files.File", each) for each in files):
        raise ApplicationError(ErrorCode.GENERR001, "/messageBody/objectFile does not describe files")
    return files_of(body)
