"""The contract: what the sandbox knows of a message's form, and its verdict on bytes."""

from __future__ import annotations

from typing import Annotated

import msgspec

from rdss_sandbox.questions.message_filter import Kind


class ContractField(msgspec.Struct, frozen=True):
    """A field of a message.

    ``name`` stands in filters, ``column`` in rows and tables; ``path`` says where it is in a message.
    ``example`` is a term of a filter, ``choices`` are values to offer there. Messages are counted by the
    ``counted`` ones. The others of which ``indexed`` is false can be matched by faults, not filtered by. Of
    the fields that are this contract's own, the ``listed`` ones have a column in lists of messages.
    """

    name: str
    column: str
    path: str
    kind: Kind
    example: str
    choices: tuple[str, ...]
    counted: bool
    indexed: bool
    listed: bool


class ContractCode(msgspec.Struct, frozen=True):
    """An error code: what it means, and the queue that its messages go to.

    ``sampled`` says that a message alone can cause it, so that there are samples of it.
    """

    code: str
    description: str
    queue: str
    sampled: bool = False


class Contract(msgspec.Struct, frozen=True):
    """The form of the messages. ``max_bytes`` is the size of the largest one.

    ``header`` and ``body`` are the fields of a message in which these are; None where it has no such fields.
    ``patience`` is the time in seconds that a sequence waits for its parts; None where every message comes in
    one part.
    """

    name: str
    media_type: str
    max_bytes: int
    fields: tuple[ContractField, ...]
    codes: tuple[ContractCode, ...]
    patience: float | None
    header: str | None = None
    body: str | None = None


class Judged(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A message to be judged, in base64.

    ``time`` is the moment, in seconds since the epoch, at which its expiry is looked at; None is now, by the
    sandbox's clock.
    """

    data: Annotated[bytes, msgspec.Meta(examples=["e30="])]
    time: float | None = None


class Violation(msgspec.Struct, frozen=True):
    """One wrong field: its JSON Pointer, the broken rule, and what is wrong. A message has no path."""

    path: str
    rule: str
    message: str


class Verdict(msgspec.Struct, frozen=True):
    """The verdict on a message: ``code`` is that of the gravest violation, None for a valid one."""

    code: str | None
    violations: tuple[Violation, ...]


class MessageVerdict(Verdict, frozen=True):
    """The verdict on a message as its sender sent it.

    ``reason`` is what is written in it of why it was refused, where it is in a queue.
    """

    reason: str | None
