"""Permissions of access keys."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from msgspec import Meta

from rdss_sandbox.api.endpoint import DELETE, GET, PUT, Mode, Subject
from rdss_sandbox.shapes.access import KeyPermission, KeyPermissions, StreamPermission

Key: TypeAlias = Annotated[str, Meta(extra={"sent_as": "key"})]


class Access(Subject[Mode], at="/access"):
    """Access keys with limited permissions for streams and operations of Kinesis."""

    @GET("", KeyPermissions, lambda found: found.permissions)
    def list(self) -> tuple[KeyPermission, ...]:
        """Every access key with limited permissions."""

    @PUT("/{key}", errors={"bad_permission": 400})
    def permit(self, access_key: Key, permission: StreamPermission) -> KeyPermission:
        """Limit the key to this permission, which replaces the one it had."""

    @DELETE("/{key}", errors={"no_such_permission": 404})
    def forget(self, access_key: Key) -> KeyPermission:
        """Remove the key's limits and return the permission that it had."""
