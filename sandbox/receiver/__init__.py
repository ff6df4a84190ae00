"""Receiving: messages are validated, deduplicated and joined; bad ones go to the error or invalid queue."""

import logging

from sandbox.receiver.originals import MemoryOriginals, OriginalNotKeptError, Originals, S3Originals
from sandbox.receiver.receiver import Receiver
from sandbox.receiver.receiving_application import (
    Application,
    ApplicationError,
    Arrival,
    PreparingApplication,
    Refused,
)
from sandbox.receiver.rejects import Rejects

__all__ = [
    "Application",
    "ApplicationError",
    "Arrival",
    "MemoryOriginals",
    "OriginalNotKeptError",
    "Originals",
    "PreparingApplication",
    "Receiver",
    "Refused",
    "Rejects",
    "S3Originals",
]

# Errors are logged with their codes (specification, Error Codes). An application adds a handler to see them.
logging.getLogger(__name__).addHandler(logging.NullHandler())
