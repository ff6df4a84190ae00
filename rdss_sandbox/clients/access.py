"""Permissions of access keys, through the control API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from rdss_sandbox.shapes.access import KeyPermission, KeyPermissions, StreamPermission


class Access:
    """Limit access keys to streams and operations of Kinesis; methods raise as those of ``Client``."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def list(self) -> tuple[KeyPermission, ...]:
        """Every access key with limited permissions."""
        found: KeyPermissions = self._ask(KeyPermissions, "GET", "/access")
        return found.permissions

    def permit(self, access_key: str, permission: StreamPermission) -> KeyPermission:
        """Limit the key to this permission, which replaces the one it had."""
        permitted: KeyPermission = self._ask(KeyPermission, "PUT", _place(access_key), body=permission)
        return permitted

    def forget(self, access_key: str) -> KeyPermission:
        """Remove the key's limits and return the permission that it had."""
        forgotten: KeyPermission = self._ask(KeyPermission, "DELETE", _place(access_key))
        return forgotten


class AsyncAccess:
    """``Access`` for asyncio."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    async def list(self) -> tuple[KeyPermission, ...]:
        found: KeyPermissions = await self._ask(KeyPermissions, "GET", "/access")
        return found.permissions

    async def permit(self, access_key: str, permission: StreamPermission) -> KeyPermission:
        permitted: KeyPermission = await self._ask(KeyPermission, "PUT", _place(access_key), body=permission)
        return permitted

    async def forget(self, access_key: str) -> KeyPermission:
        forgotten: KeyPermission = await self._ask(KeyPermission, "DELETE", _place(access_key))
        return forgotten


def _place(access_key: str) -> str:
    return f"/access/{quote(access_key, safe='')}"
