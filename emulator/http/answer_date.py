"""The ``Date`` of an answer (RFC 9110 section 6.6.1), on the sandbox's clock.

An AWS client corrects its clock by this header. Its signatures, and what it takes for expired, then agree
with the timestamps of records and objects, which are on the sandbox's clock too.
"""

from __future__ import annotations

from email.utils import formatdate

from emulator.clock import Clock


class AnswerDate:
    """The header, rendered once a second."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._second = -1
        self._header = (b"date", b"")

    def header(self) -> tuple[bytes, bytes]:
        second = int(self._clock.time())
        if second != self._second:
            self._second = second
            self._header = (b"date", formatdate(second, usegmt=True).encode())
        return self._header
