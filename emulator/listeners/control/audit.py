"""The audit log: its progress, a drain that waits until it is complete, and its entries in both places."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from starlette.responses import Response

from emulator.archive.archives import Archives
from emulator.archive.audit_log import AuditIndexes
from emulator.archive.stream_loading import LoaderStoppedError
from emulator.listeners.control.endpoint_routing import ApiError, handles
from emulator.listeners.control.messages import MessageResources
from emulator.message_index.index import MessageIndex
from rdss_sandbox.api import audit as api
from rdss_sandbox.shapes.audit import AuditPlace, AuditStatus
from rdss_sandbox.shapes.contract import MessageVerdict
from rdss_sandbox.shapes.messages import Counts, MessageDetail, MessagePage, Original


class AuditResources:
    """``/audit``; the entries in each place answer as ``/messages`` does."""

    def __init__(
        self,
        archives: Archives,
        log: AuditIndexes | None,
        resources_of: Callable[[Callable[[], MessageIndex]], MessageResources],
    ) -> None:
        self._archives = archives
        self._log = log
        places: tuple[AuditPlace, ...] = ("stream", "bucket")
        self._entries = {place: resources_of(partial(self._index, place)) for place in places}

    @handles(api.AuditLog.audit_status)
    def status(self) -> AuditStatus:
        return self._find_status()

    @handles(api.AuditLog.drain_audit)
    async def drain(self) -> AuditStatus:
        try:
            await self._archives.drain()
        except LoaderStoppedError as error:
            raise ApiError(HTTPStatus.SERVICE_UNAVAILABLE, "loader_stopped", str(error)) from error
        return self._find_status()

    @handles(api.AuditMessages.messages)
    def messages(self, place: AuditPlace, **query: Any) -> MessagePage:
        page: MessagePage = self._entries[place].messages(**query)
        return page

    @handles(api.AuditMessages.counts)
    def counts(self, place: AuditPlace, **query: Any) -> Counts:
        counts: Counts = self._entries[place].counts(**query)
        return counts

    @handles(api.AuditMessages.export)
    def export(self, place: AuditPlace, **query: Any) -> Response:
        lines: Response = self._entries[place].export(**query)
        return lines

    @handles(api.AuditMessages.message)
    def message(self, place: AuditPlace, row_id: int) -> MessageDetail:
        found: MessageDetail = self._entries[place].message(row_id)
        return found

    @handles(api.AuditMessages.original)
    def original(self, place: AuditPlace, row_id: int) -> Original:
        found: Original = self._entries[place].original(row_id)
        return found

    @handles(api.AuditMessages.verdict)
    def verdict(self, place: AuditPlace, row_id: int) -> MessageVerdict:
        found: MessageVerdict = self._entries[place].verdict(row_id)
        return found

    def _find_status(self) -> AuditStatus:
        if self._archives.status is None:
            raise _no_audit()
        return self._archives.status

    def _index(self, place: AuditPlace) -> MessageIndex:
        if self._log is None:
            raise _no_audit()
        return self._log.index(place)


def _no_audit() -> ApiError:
    return ApiError(HTTPStatus.NOT_FOUND, "no_audit", "this sandbox's topology has no audit log")
