"""Access: restrict access keys to permissions, and lift the restrictions."""

from __future__ import annotations

from http import HTTPStatus

from emulator.events import Events
from emulator.listeners.aws.stream_access import BadPermissionError, StreamAccess, UnknownPermissionError
from emulator.listeners.control.endpoint_routing import handles, translate_errors
from rdss_sandbox.api.access import Access
from rdss_sandbox.shapes.access import KeyPermission, KeyPermissions, StreamPermission


class AccessResources:
    """``/access``."""

    def __init__(self, access: StreamAccess, events: Events) -> None:
        self._access = access
        self._events = events

    @handles(Access.list)
    def list(self) -> KeyPermissions:
        return KeyPermissions(self._access.permissions())

    @handles(Access.permit)
    def permit(self, access_key: str, permission: StreamPermission) -> KeyPermission:
        key_permission = KeyPermission(access_key, permission.streams, permission.operations)
        with translate_errors((BadPermissionError, HTTPStatus.BAD_REQUEST, "bad_permission")):
            permitted = self._access.permit(key_permission)
        self._events.emit(
            "access.permitted",
            access_key=permitted.access_key,
            streams=permitted.streams,
            operations=permitted.operations,
        )
        return permitted

    @handles(Access.forget)
    def forget(self, access_key: str) -> KeyPermission:
        with translate_errors((UnknownPermissionError, HTTPStatus.NOT_FOUND, "no_such_permission")):
            forgotten = self._access.forget(access_key)
        self._events.emit("access.forgotten", access_key=forgotten.access_key)
        return forgotten
