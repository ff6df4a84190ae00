"""What is asked of topics: one struct a command, with the header names that are public.

``data`` is JSON as it came, bytes in ``msgspec.Raw``: it is parsed only where it must be. Every command can
ask for acknowledgements (``ack_type``, a comma-separated list of ``ACK_TYPES``), which carry its ``cmd_id``.
``opts`` is a comma-separated list of the options in ``options``; ``sow_keys`` and ``bookmark`` are lists too.
An empty header is the same as none.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

ACK_TYPES: Final = ("none", "received", "processed", "completed", "persisted", "stats")
NO_DATA: Final = msgspec.Raw(b"")


class _Command(msgspec.Struct, tag_field="cmd", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    topic: str


class Publish(_Command, tag="publish"):
    """Give ``data`` to the subscribers of ``topic``; in a state of the world insert or update a record.

    ``expiration`` in seconds, 0 for never. ``seq`` rises with each message of a publisher.
    ``correlation_id`` and ``sow_key`` are made of Base64's characters.
    """

    data: msgspec.Raw = NO_DATA
    ack_type: str = ""
    cmd_id: str = ""
    expiration: float | None = None
    seq: int | None = None
    correlation_id: str = ""
    sow_key: str = ""


class DeltaPublish(Publish, tag="delta_publish"):
    """Lay the fields in ``data`` over those of the record; without one it is a ``publish``."""


class Subscribe(_Command, tag="subscribe"):
    """Send what is published from now on, or was after ``bookmark``, to ``sub_id`` (without, ``cmd_id``).

    ``topic`` can be a regular expression. ``bookmark`` is one or more that messages had, ``0`` for all that
    is kept, or a date and time.
    """

    filter: str = ""
    sub_id: str = ""
    bookmark: str = ""
    opts: str = ""
    ack_type: str = ""
    cmd_id: str = ""


class DeltaSubscribe(Subscribe, tag="delta_subscribe"):
    """Subscribe to what changes in each record: its key fields and those that are new or different."""


class Sow(_Command, tag="sow"):
    """Send the records that match, ``batch_size`` in a message, between ``group_begin`` and ``group_end``.

    ``orderby`` is ``/field [ASC|DESC] [TEXT]``, comma-separated; ``top_n`` bounds how many are sent;
    ``sow_keys`` restricts the command to these records. Without ``query_id`` it is ``cmd_id``.
    """

    filter: str = ""
    orderby: str = ""
    top_n: int | None = None
    batch_size: int = 1
    sow_keys: str = ""
    query_id: str = ""
    opts: str = ""
    ack_type: str = ""
    cmd_id: str = ""


class SowAndSubscribe(_Command, tag="sow_and_subscribe"):
    """``Sow`` and ``Subscribe`` as one: nothing is missed or seen twice between the result and what follows.

    ``top_n``, ``orderby`` and ``batch_size`` are the query's alone.
    """

    filter: str = ""
    orderby: str = ""
    top_n: int | None = None
    batch_size: int = 1
    sow_keys: str = ""
    query_id: str = ""
    sub_id: str = ""
    opts: str = ""
    ack_type: str = ""
    cmd_id: str = ""


class SowAndDeltaSubscribe(SowAndSubscribe, tag="sow_and_delta_subscribe"):
    """``Sow`` and ``DeltaSubscribe`` as one."""


class Unsubscribe(
    msgspec.Struct, tag_field="cmd", tag="unsubscribe", forbid_unknown_fields=True, omit_defaults=True
):
    """End the subscription ``sub_id``, or with ``all`` every one of the session."""

    sub_id: str
    ack_type: str = ""
    cmd_id: str = ""


class SowDelete(_Command, tag="sow_delete"):
    """Delete the records that match ``filter``, have one of ``sow_keys``, or have the key that ``data`` has.

    On a queue it acknowledges the messages with these ``bookmark``s; with the option ``cancel`` they go
    back, with ``expire`` they are thrown away.
    """

    filter: str = ""
    sow_keys: str = ""
    data: msgspec.Raw = NO_DATA
    bookmark: str = ""
    seq: int | None = None
    opts: str = ""
    ack_type: str = ""
    cmd_id: str = ""


class Undecoded(msgspec.Struct):
    """What could be read of what is no command: the headers by which it is answered."""

    cmd: str = ""
    topic: str = ""
    cmd_id: str = ""
    ack_type: str = ""
    seq: int | None = None


Command: TypeAlias = (
    Publish
    | DeltaPublish
    | Subscribe
    | DeltaSubscribe
    | Sow
    | SowAndSubscribe
    | SowAndDeltaSubscribe
    | Unsubscribe
    | SowDelete
)
