"""Acknowledgements of commands; those of persistence are conflated."""

from __future__ import annotations

from itertools import takewhile
from typing import Any

import msgspec

from extensions.topics.engine.command_refusal import CommandRefusedError
from extensions.topics.engine.commands import Command, Undecoded
from extensions.topics.engine.downstream_links import NOWHERE, AwaitedPlace
from extensions.topics.engine.outgoing_messages import Ack, Status
from extensions.topics.engine.topic_registry import TopicRegistry
from extensions.topics.engine.topic_subscription import Subscriber

CONFLATION_SECONDS = 1.0


class _Settled(msgspec.Struct):
    """The outcome of a command, or without ``cmd_id`` of all commands up to ``seq``.

    ``due`` means that its acknowledgement waits only for downstream sandboxes.
    """

    cmd_id: str
    seq: int | None
    status: Status
    reason: str
    place: AwaitedPlace = NOWHERE
    due: bool = False

    def covers(self, other: _Settled) -> bool:
        """Whether one acknowledgement can stand for ``self`` and the earlier ``other``."""
        both = (self, other)
        return not other.due and not any(one.cmd_id or one.reason or one.seq is None for one in both)

    @property
    def held(self) -> bool:
        """Whether a downstream sandbox must receive it first."""
        return any(link.holds(self.place.number) for link in self.place.links)


class Persistence:
    """The acknowledgements ``persisted`` of one session, in the order of its commands.

    With a transaction log they are sent about a second later. One with the last sequence number then stands
    for a run of successful commands without a ``cmd_id``. Without a log they are sent at once. An
    acknowledgement that waits for a downstream sandbox delays those behind it.
    """

    def __init__(self, registry: TopicRegistry, session: Subscriber) -> None:
        self._registry = registry
        self._session = session
        self._waiting: list[_Settled] = []

    def settle(self, settled: _Settled) -> None:
        """Acknowledge a command as soon as its effect is durable."""
        last = self._waiting[-1] if self._waiting else None
        if last is not None and settled.covers(last):
            settled.place = last.place.merge(settled.place)
            self._waiting[-1] = settled
            return
        self._waiting.append(settled)
        if not self._registry.conflates:
            self.flush()
        # One that is not due yet has a flush planned, which takes this one too.
        elif last is None or last.due:
            self._registry.schedule.put(CONFLATION_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what waits for nothing but its time."""
        for one in self._waiting:
            one.due = True
        self._send(self._waiting)

    def resume(self) -> None:
        """Send the acknowledgements that waited only for a downstream sandbox, which has advanced."""
        self._send([one for one in self._waiting if one.due])

    def forget(self) -> None:
        """Nobody is there to be told any more."""
        self._waiting = []
        self._registry.held.pop(self, None)

    def _send(self, due: list[_Settled]) -> None:
        free = list(takewhile(lambda one: not one.held, due))
        if self._session.closed:
            self._waiting = []
        else:
            self._waiting = self._waiting[len(free) :]
        if self._waiting:
            self._registry.held[self] = None
        else:
            self._registry.held.pop(self, None)
        self._deliver(free)

    def _deliver(self, waiting: list[_Settled]) -> None:
        if not waiting or self._session.closed:
            return
        try:
            # Once for all that are acknowledged together.
            self._registry.log.sync()
        except OSError as error:
            reason = f"not stored: the log could not be made durable ({error})"
            waiting = [_Settled(one.cmd_id, one.seq, "failure", one.reason or reason) for one in waiting]
        for one in waiting:
            self._session.deliver(Ack("persisted", one.status, one.cmd_id, one.seq, one.reason))


class CommandReceipt:
    """Sends the acknowledgements that one command asked for."""

    __slots__ = ("_command", "_persistence", "_session", "asked")

    def __init__(
        self,
        session: Subscriber,
        persistence: Persistence,
        command: Command | Undecoded,
        asked: frozenset[str],
    ) -> None:
        self._session = session
        self._persistence = persistence
        self._command = command
        self.asked = asked

    def acknowledge(self, ack_type: str, **fields: Any) -> None:
        """Send an acknowledgement if the command asked for it; ``fields`` are its further headers."""
        if ack_type not in self.asked:
            return
        command = self._command
        seq = getattr(command, "seq", None)
        fields.setdefault("status", "success")
        self._session.deliver(Ack(ack_type, cmd_id=command.cmd_id, seq=seq, **fields))

    def acknowledge_done(self, reason: str = "", **counts: Any) -> None:
        """Acknowledge that the command is done; the ``stats`` acknowledgement has the counts."""
        self.acknowledge("processed", reason=reason)
        self.acknowledge("completed", reason=reason)
        if counts:
            self.acknowledge("stats", reason=reason, **counts)

    def acknowledge_persisted(self, place: AwaitedPlace) -> None:
        """Acknowledge persistence as soon as ``place`` is durable here and in its downstream sandboxes."""
        self._settle("success", "", place)

    def acknowledge_refusal(self, refused: CommandRefusedError, *, persists: bool) -> None:
        """Acknowledge a refusal; ``persists`` means that the command also has a ``persisted`` ack."""
        self.acknowledge("processed", status="failure", reason=refused.reason)
        self.acknowledge("completed", status="failure", reason=refused.reason)
        if persists:
            self._settle("failure", refused.reason, NOWHERE)

    def _settle(self, status: Status, reason: str, place: AwaitedPlace) -> None:
        if "persisted" in self.asked:
            command = self._command
            seq = getattr(command, "seq", None)
            self._persistence.settle(_Settled(command.cmd_id, seq, status, reason, place))
