"""Permissions of access keys for streams and for operations of AWS's services."""

from __future__ import annotations

from typing import Annotated

import msgspec

Patterns = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class StreamPermission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The ``operations`` that an access key may call, on these ``streams``; ``*`` is a wildcard in both.

    An operation is one of Kinesis, or one of another service with its name, as in an AWS policy:
    ``s3:GetObject``, ``sqs:*``. One without a stream, such as ListStreams, needs the stream ``*``. No
    operations at all permit nothing.
    """

    streams: Patterns = ("*",)
    operations: tuple[str, ...] = ("*",)


class KeyPermission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The permission of one ``access_key``. Everything else is denied to the key.

    The access key ``*`` is every key that has no permission: AWS's services say that it is unknown to them.
    """

    access_key: str
    streams: Patterns = ("*",)
    operations: tuple[str, ...] = ("*",)


class KeyPermissions(msgspec.Struct, frozen=True):
    """Every access key with limited permissions."""

    permissions: tuple[KeyPermission, ...]
