"""Definitions of topics in the configuration. An undefined topic only forwards messages to subscribers."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from extensions.topics.engine.message_types import TypeName
from rdss_sandbox.shapes.topics import Access

Aggregate: TypeAlias = Literal["last", "count", "sum", "min", "max", "avg"]
Semantics: TypeAlias = Literal["at-least-once", "at-most-once"]


class BadDefinitionError(ValueError):
    """A definition is not valid; the message names it and gives the reason."""


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
        return str(self.__struct_config__.tag)


class Topic(_Definition, frozen=True, tag="topic"):
    """A topic to publish to.

    ``keys`` are the fields of a record's SOW key, such as ``/objectUUID``, or ``publisher`` if the publisher
    gives the key; without keys the topic has no state of the world. ``logged`` topics are in the transaction
    log. ``expiration`` is the default lifetime of records in seconds, 0 for ever; with None records never
    expire. ``message_type`` is the type of its messages. ``separator`` ends a field of NVFIX, by default SOH.
    ``downstreams`` names the sandboxes that its messages are replicated to.
    """

    keys: tuple[str, ...] | Literal["publisher"] = ()
    logged: bool = False
    expiration: float | None = None
    message_type: TypeName = "json"
    separator: str = ""
    downstreams: tuple[str, ...] = ()


class Queue(_Definition, frozen=True, tag="queue"):
    """A queue of the messages of the logged topics ``of``; each message goes to one subscriber.

    Without ``of``, the queue takes messages that are published to its own name; ``message_type`` and
    ``separator`` are then as for a ``Topic``. A message is leased for ``lease`` seconds and returns
    to the queue unless it is acknowledged. ``max_backlog`` limits the leased messages of a subscription. A
    message is discarded after ``max_cancels`` returns by ``cancel``.
    """

    of: tuple[str, ...] = ()
    semantics: Semantics = "at-least-once"
    lease: float = 60.0
    max_backlog: int = 1
    max_cancels: int | None = None
    message_type: TypeName = "json"
    separator: str = ""


class ViewColumn(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """A field of a view: the ``aggregate`` of ``path`` in the records of ``topic``, or of all its topics."""

    name: str
    path: str
    aggregate: Aggregate = "last"
    topic: str = ""


class View(_Definition, frozen=True, tag="view"):
    """A view: it joins and aggregates the records of the topics ``of`` that have equal ``keys``."""

    of: tuple[str, ...]
    keys: tuple[str, ...]
    columns: tuple[ViewColumn, ...] = ()


class ConflatedTopic(_Definition, frozen=True, tag="conflated"):
    """A replica of the topic ``of`` that sends only the last change of a record in ``interval`` seconds."""

    of: str
    interval: float = 1.0


Definition: TypeAlias = Topic | Queue | View | ConflatedTopic


EVERYBODY = Access()
