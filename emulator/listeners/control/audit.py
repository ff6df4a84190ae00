"""The audit log: its progress, a drain that waits until it is complete, and its entries in both places."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus

from emulator.archive.archives import Archives
from emulator.archive.audit_log import AuditLog
from emulator.events import Events
from emulator.listeners.control.export import ExportResources
from emulator.listeners.control.messages import MessageResources
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from emulator.message_index.index import MessageIndex
from rdss_sandbox.shapes.audit import AuditPlace, AuditStatus


class AuditResources:
    """``/audit``; ``/audit/stream/messages`` and ``/audit/bucket/messages`` answer as ``/messages`` does."""

    def __init__(self, archives: Archives, log: AuditLog | None, events: Events) -> None:
        self._archives = archives
        self._log = log
        self._entries = (
            *_build_routes("stream", self._index, events),
            *_build_routes("bucket", self._index, events),
        )

    def routes(self) -> list[Route]:
        drain = "Wait until everything that is there now is in its bucket"
        return [
            Route("GET", "/audit/status", "How far the audit log is", self._status, AuditStatus),
            Route("POST", "/audit/drain", drain, self._drain, AuditStatus),
            *self._entries,
        ]

    def _status(self, _: Asked[Nothing, None]) -> AuditStatus:
        status = self._archives.status
        if status is None:
            raise _no_audit()
        return status

    async def _drain(self, asked: Asked[Nothing, None]) -> AuditStatus:
        await self._archives.drain()
        return self._status(asked)

    def _index(self, place: AuditPlace) -> MessageIndex:
        if self._log is None:
            raise _no_audit()
        return self._log.index(place)


def _build_routes(
    place: AuditPlace, index: Callable[[AuditPlace], MessageIndex], events: Events
) -> list[Route]:
    at, of, its = f"/audit/{place}/messages", f" in the audit {place}", partial(index, place)
    return [*MessageResources(its, events, at, of).routes(), *ExportResources(its, at, of).routes()]


def _no_audit() -> ApiError:
    return ApiError(HTTPStatus.NOT_FOUND, "no_audit", "this sandbox's topology has no audit log")
