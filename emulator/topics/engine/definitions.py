"""What topics there are, as configuration says it. A topic that is not defined only passes messages on."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from emulator.topics.engine.message_types import TypeName
from rdss_sandbox.shapes.topics import Access

Aggregate: TypeAlias = Literal["last", "count", "sum", "min", "max", "avg"]
Semantics: TypeAlias = Literal["at-least-once", "at-most-once"]


class BadDefinitionError(ValueError):
    """Definitions that cannot be: says which, and why."""


class _Definition(
    msgspec.Struct,
    frozen=True,
    kw_only=True,
    tag_field="kind",
    forbid_unknown_fields=True,
    omit_defaults=True,
):
    name: str

    @property
    def kind(self) -> str:
        """What it is, as configuration says it."""
        return str(self.__struct_config__.tag)


class Topic(_Definition, frozen=True, tag="topic"):
    """A topic to publish to.

    ``keys``: the fields that make a record's SOW key, as ``/objectUUID``, or ``publisher`` where the
    publisher gives it; none, and the topic keeps no state of the world. ``logged``: in the transaction log.
    ``expiration``: whether records expire, and after how many seconds unless the message says; 0 for never.
    ``message_type`` is what its messages are written in; ``separator`` ends a field of NVFIX, without it SOH.
    ``downstreams`` names the sandboxes that have what is published here as well.
    """

    keys: tuple[str, ...] | Literal["publisher"] = ()
    logged: bool = False
    expiration: float | None = None
    message_type: TypeName = "json"
    separator: str = ""
    downstreams: tuple[str, ...] = ()


class Queue(_Definition, frozen=True, tag="queue"):
    """What is published to the logged topics ``of``, each message to one subscriber.

    Without ``of`` it is what is published to the queue's own name, of ``message_type`` with ``separator``,
    as for a ``Topic``; else of theirs. A message is leased for ``lease`` seconds
    and comes back unless it is acknowledged; ``max_backlog`` bounds what a subscription may hold; after
    ``max_cancels`` returns by ``cancel`` a message is thrown away.
    """

    of: tuple[str, ...] = ()
    semantics: Semantics = "at-least-once"
    lease: float = 60.0
    max_backlog: int = 1
    max_cancels: int | None = None
    message_type: TypeName = "json"
    separator: str = ""


class Column(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A field of a view: the ``aggregate`` of ``path`` in the records of ``topic``, by default of all."""

    name: str
    path: str
    aggregate: Aggregate = "last"
    topic: str = ""


class View(_Definition, frozen=True, tag="view"):
    """Records made of those in the topics ``of`` that agree at ``keys``: joined and aggregated."""

    of: tuple[str, ...]
    keys: tuple[str, ...]
    columns: tuple[Column, ...] = ()


class ConflatedTopic(_Definition, frozen=True, tag="conflated"):
    """A replica of the topic ``of`` that tells only the last of what changed in ``interval`` seconds."""

    of: str
    interval: float = 1.0


Definition: TypeAlias = Topic | Queue | View | ConflatedTopic


EVERYBODY = Access()
