"""Access: restrict access keys to permissions, and lift the restrictions."""

from __future__ import annotations

from http import HTTPStatus

from emulator.events import Events
from emulator.listeners.aws.stream_access import BadPermissionError, StreamAccess, UnknownPermissionError
from emulator.listeners.control.routing import ApiError, Asked, Nothing, Route
from rdss_sandbox.shapes.access import KeyPermission, KeyPermissions, StreamPermission


class AccessResources:
    """``/access``."""

    def __init__(self, access: StreamAccess, events: Events) -> None:
        self._access = access
        self._events = events

    def routes(self) -> list[Route]:
        place, body = "/access/{key}", StreamPermission
        return [
            Route("GET", "/access", "The access keys that may not do everything", self._list, KeyPermissions),
            Route("PUT", place, "Hold an access key to a permission", self._permit, KeyPermission, body=body),
            Route("DELETE", place, "Let an access key do everything again", self._forget, KeyPermission),
        ]

    def _list(self, _: Asked[Nothing, None]) -> KeyPermissions:
        return KeyPermissions(self._access.permissions())

    def _permit(self, asked: Asked[Nothing, StreamPermission]) -> KeyPermission:
        wanted = KeyPermission(asked.path["key"], asked.body.streams, asked.body.operations)
        try:
            permitted = self._access.permit(wanted)
        except BadPermissionError as error:
            raise ApiError(HTTPStatus.BAD_REQUEST, "bad_permission", str(error)) from error
        self._events.emit(
            "access.permitted",
            access_key=permitted.access_key,
            streams=permitted.streams,
            operations=permitted.operations,
        )
        return permitted

    def _forget(self, asked: Asked[Nothing, None]) -> KeyPermission:
        try:
            forgotten = self._access.forget(asked.path["key"])
        except UnknownPermissionError as error:
            raise ApiError(HTTPStatus.NOT_FOUND, "no_such_permission", error.args[0]) from error
        self._events.emit("access.forgotten", access_key=forgotten.access_key)
        return forgotten
