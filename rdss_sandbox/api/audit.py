"""The audit log: its progress, and its entries in both places."""

from __future__ import annotations

from typing import Final

from rdss_sandbox.api.endpoint import GET, POST, Mode, Subject
from rdss_sandbox.api.messages import Messages
from rdss_sandbox.shapes.audit import AuditPlace, AuditStatus

_NO_AUDIT: Final = {"no_audit": 404}


class AuditLog(Subject[Mode], at="/audit", errors=_NO_AUDIT):
    """The progress of the audit log."""

    @GET("/status")
    def audit_status(self) -> AuditStatus:
        """The numbers of messages that the audit log has copied and delivered."""

    @POST("/drain", errors={"loader_stopped": 503})
    def drain_audit(self) -> AuditStatus:
        """Wait until every message that is in the streams now is in the bucket of the audit log."""


class AuditMessages(Messages[Mode], at="/audit/{place}/messages", errors=_NO_AUDIT):
    """The entries of the audit log, in its stream or in its bucket."""

    place: AuditPlace

    def __init__(self, transport: Mode, place: AuditPlace) -> None:
        super().__init__(transport)
        self.place = place
