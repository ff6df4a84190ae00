"""The control API's shapes of who may do what with which streams."""

from __future__ import annotations

from typing import Annotated

import msgspec

Patterns = Annotated[tuple[str, ...], msgspec.Meta(min_length=1)]


class StreamPermission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What an access key may do: ``operations`` of Kinesis on ``streams``, both by name or pattern (``*``).

    As in a policy of AWS, an operation that names no stream, such as ListStreams, needs the stream ``*``.
    """

    streams: Patterns = ("*",)
    operations: Patterns = ("*",)


class KeyPermission(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A permission with the ``access_key`` that it is for, which is denied everything else."""

    access_key: str
    streams: Patterns = ("*",)
    operations: Patterns = ("*",)


class KeyPermissions(msgspec.Struct, frozen=True):
    """Every access key that may not do everything."""

    permissions: tuple[KeyPermission, ...]
