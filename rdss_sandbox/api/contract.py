"""The contract that messages are judged by."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import GET, POST, Mode, Subject
from rdss_sandbox.shapes.contract import Contract, Judged, Verdict

# The largest record that a stream can allow (10 MiB), in base64, with room for the other fields.
_MOST_JUDGED_BYTES: Final = 15 << 20


class MessageContract(Subject[Mode], at="/contract"):
    """The contract: the form of a message, its fields and error codes."""

    @GET("")
    def contract(self) -> Contract:
        """The fields of a message that can be filtered by, counted and matched, and the error codes."""

    @POST("/verdict", most_bytes=_MOST_JUDGED_BYTES)
    def judge(self, message: Judged) -> Verdict:
        """The verdict on a message, which is put nowhere: every violation and the error code."""
