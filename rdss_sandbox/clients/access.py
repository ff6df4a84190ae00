"""The access keys of a sandbox that may not do everything, through its control API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from rdss_sandbox.shapes.access import KeyPermission, KeyPermissions, StreamPermission


class Access:
    """Hold access keys to streams and operations; every method raises as ``Client`` does."""

    def __init__(self, ask: Callable[..., Any]) -> None:
        self._ask = ask

    def list(self) -> tuple[KeyPermission, ...]:
        found: KeyPermissions = self._ask(KeyPermissions, "GET", "/access")
        return found.permissions

    def permit(self, access_key: str, permission: StreamPermission) -> KeyPermission:
        """Hold the key to this permission, in place of the one that it had."""
        permitted: KeyPermission = self._ask(KeyPermission, "PUT", _place(access_key), body=permission)
        return permitted

    def forget(self, access_key: str) -> KeyPermission:
        """Let the key do everything again and return what it was held to."""
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
