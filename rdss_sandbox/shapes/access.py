"""Permissions of access keys for streams and operations of Kinesis."""

from __future__ import annotations

from typing import Annotated

import msgspec

Patterns = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class StreamPermission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``operations`` of Kinesis that an access key may call on ``streams``; ``*`` is a wildcard in both.

    An operation without a stream, such as ListStreams, needs the stream ``*``, as in an AWS policy.
    """

    streams: Patterns = ("*",)
    operations: Patterns = ("*",)


class KeyPermission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The permission of one ``access_key``. Everything else is denied to the key."""

    access_key: str
    streams: Patterns = ("*",)
    operations: Patterns = ("*",)


class KeyPermissions(msgspec.Struct, frozen=True):
    """Every access key with limited permissions."""

    permissions: tuple[KeyPermission, ...]
