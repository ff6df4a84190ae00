"""The commands of topics: one struct for each, with the public header names.

``data`` is unparsed JSON in ``msgspec.Raw``; it is parsed only when needed. Every command can ask for
acknowledgements by ``ack_type``, a comma-separated list of ``ACK_TYPES``; they carry its ``cmd_id``.
``opts``, ``sow_keys`` and ``bookmark`` are such lists too; ``headers.CommandOptions`` has the options.
An empty header is the same as a missing one.
"""

from __future__ import annotations

from typing import Final, TypeAlias

import msgspec

ACK_TYPES: Final = ("none", "received", "processed", "completed", "persisted", "stats")
NO_DATA: Final = msgspec.Raw(b"")


class _Command(msgspec.Struct, tag_field="cmd", forbid_unknown_fields=True, omit_defaults=True, gc=False):
    topic: str


class Publish(_Command, tag="publish"):
    """Send ``data`` to the subscribers of ``topic``; in a state of the world, insert or update a record.

    ``expiration`` is in seconds, 0 for never. ``seq`` rises with each message of a publisher.
    ``correlation_id`` and ``sow_key`` consist of the characters of Base64.
    """

    data: msgspec.Raw = NO_DATA
    ack_type: str = ""
    cmd_id: str = ""
    expiration: float | None = None
    seq: int | None = None
    correlation_id: str = ""
    sow_key: str = ""


class DeltaPublish(Publish, tag="delta_publish"):
    """Replace the fields in ``data`` in the record; without a record it is a ``publish``."""


class Subscribe(_Command, tag="subscribe"):
    """Send messages that are published from now on, or were published after ``bookmark``, as ``sub_id``.

    Without ``sub_id``, ``cmd_id`` names the subscription. ``topic`` can be a regular expression. ``bookmark``
    is one or more bookmarks of messages, ``0`` for the whole log, or a date and time.
    """

    filter: str = ""
    sub_id: str = ""
    bookmark: str = ""
    opts: str = ""
    ack_type: str = ""
    cmd_id: str = ""


class DeltaSubscribe(Subscribe, tag="delta_subscribe"):
    """Subscribe to the changes of each record: its key fields and the fields that are new or different."""


class Sow(_Command, tag="sow"):
    """Send the records that match, ``batch_size`` in a message, between ``group_begin`` and ``group_end``.

    ``orderby`` is ``/field [ASC|DESC] [TEXT]``, comma-separated. ``top_n`` limits the number of records.
    ``sow_keys`` restricts the command to these records. Without ``query_id``, ``cmd_id`` names the query.
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
    """``Sow`` and ``Subscribe`` in one atomic command: no change between them is missed or sent twice.

    ``top_n``, ``orderby`` and ``batch_size`` apply to the query only.
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
    """``Sow`` and ``DeltaSubscribe`` in one atomic command."""


class Unsubscribe(
    msgspec.Struct, tag_field="cmd", tag="unsubscribe", forbid_unknown_fields=True, omit_defaults=True
):
    """End the subscription ``sub_id``, or with ``all`` every subscription of the session."""

    sub_id: str
    ack_type: str = ""
    cmd_id: str = ""


class SowDelete(_Command, tag="sow_delete"):
    """Delete the records that match ``filter``, have one of ``sow_keys``, or have the key of ``data``.

    On a queue, acknowledge the messages with these ``bookmark``s. The option ``cancel`` returns them to the
    queue; ``expire`` discards them.
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
    """The headers that could be read of a message that is not a valid command; the answer needs them."""

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
