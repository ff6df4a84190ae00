"""The audit log: how far it is, and waiting until it is complete."""

from __future__ import annotations

from http import HTTPStatus

from emulator.archives import Archives
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.resources import AuditStatus


class AuditResources:
    """``/audit``."""

    def __init__(self, archives: Archives) -> None:
        self._archives = archives

    def routes(self) -> list[Route]:
        drain = "Wait until everything that is there now is in its bucket"
        return [
            Route("GET", "/audit/status", "How far the audit log is", self._status, AuditStatus),
            Route("POST", "/audit/drain", drain, self._drain, AuditStatus),
        ]

    def _status(self, _: Asked[Nothing, None]) -> AuditStatus:
        status = self._archives.status
        if status is None:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_audit", "this sandbox's topology has no audit log")
        return status

    async def _drain(self, asked: Asked[Nothing, None]) -> AuditStatus:
        await self._archives.drain()
        return self._status(asked)
