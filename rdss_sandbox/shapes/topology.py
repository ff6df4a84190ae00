"""The topology: the streams, queues and buckets of a sandbox, its audit log and its archives."""

from __future__ import annotations

from typing import Annotated, Final, Literal, TypeAlias

import msgspec

StreamName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-zA-Z0-9_.-]{1,128}$")]


BucketName: TypeAlias = Annotated[str, msgspec.Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$")]


class AuditTap(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The audit log: messages of the streams in ``taps`` are copied to ``stream``, and then to ``bucket``."""

    stream: StreamName = "audit"
    bucket: BucketName = "rdss-audit"
    taps: tuple[StreamName, ...] = ("input", "output", "error", "invalid")


TransitionSeconds: TypeAlias = Annotated[float, msgspec.Meta(ge=0, le=86_400)]


LEAST_RECORD_KIB: Final = 1024
Shards: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=10_000)]


class StreamForm(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A stream at first, as ``CreateStream`` takes it; one of the mode ON_DEMAND begins with four shards."""

    shards: Shards = 1
    mode: Literal["PROVISIONED", "ON_DEMAND"] = "PROVISIONED"
    max_record_kib: Annotated[int, msgspec.Meta(ge=LEAST_RECORD_KIB, le=10_240)] = LEAST_RECORD_KIB


class AmqpExchange(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An exchange of the broker, as a client would declare it."""

    type: Literal["topic", "direct", "fanout", "headers"] = "topic"
    durable: bool = True
    auto_delete: bool = False


class AmqpBinding(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Messages that ``exchange`` routes by ``routing_key`` to a queue."""

    exchange: str
    routing_key: str = ""


class AmqpQueue(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A queue of the broker, and what is bound to it; the default exchange always is."""

    durable: bool = True
    auto_delete: bool = False
    bindings: tuple[AmqpBinding, ...] = ()


AmqpName: TypeAlias = Annotated[str, msgspec.Meta(min_length=1, max_length=127)]


class Topology(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The streams, by name with their first number of shards or their form, and the buckets.

    ``exchanges`` and ``queues`` are those of the broker on the AMQP port.
    ``archives`` maps a stream to the bucket that keeps its messages: the error and the invalid queue. The
    messages of these streams, and of those in ``claimable``, can be claimed. ``transition_seconds`` is the
    time on the clock that a stream stays CREATING, UPDATING or DELETING; it is read when a sandbox starts.
    """

    streams: dict[StreamName, Shards | StreamForm] = {}
    buckets: tuple[BucketName, ...] = ()
    audit: AuditTap | None = None
    archives: dict[StreamName, BucketName] = {}
    claimable: tuple[StreamName, ...] = ()
    exchanges: dict[AmqpName, AmqpExchange] = {}
    queues: dict[AmqpName, AmqpQueue] = {}
    transition_seconds: TransitionSeconds = 0.0

    @property
    def apart(self) -> frozenset[str]:
        """The streams where no message originates: the error and invalid queues and the audit log."""
        return frozenset((*self.archives, *((self.audit.stream,) if self.audit else ())))

    @property
    def first(self) -> str:
        """The stream to send to where none is named; ``input`` where there is none."""
        return next((name for name in self.streams if name not in self.apart), "input")


class Populated(msgspec.Struct, frozen=True):
    """The streams and buckets that were missing and are created."""

    streams: tuple[str, ...]
    buckets: tuple[str, ...]
