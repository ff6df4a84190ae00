"""Acknowledgements: each command's own, and those of persistence, which are folded together."""

from __future__ import annotations

from typing import Any

import msgspec

from emulator.topics.engine.commands import Command, Undecoded
from emulator.topics.engine.messages import Ack, Status
from emulator.topics.engine.refusals import CommandRefusedError
from emulator.topics.engine.subscription import Subscriber
from emulator.topics.engine.topic_registry import TopicRegistry

CONFLATION_SECONDS = 1.0


class _Settled(msgspec.Struct):
    """A command that has been decided, or, when it has no ``cmd_id``, all up to ``seq``."""

    cmd_id: str
    seq: int | None
    status: Status
    reason: str

    def covers(self, other: _Settled) -> bool:
        """Whether one acknowledgement can stand for ``self`` and what came before."""
        both = (self, other)
        return not any(one.cmd_id or one.reason or one.seq is None for one in both)


class Persistence:
    """The acknowledgements ``persisted`` of one session, in the order of its commands.

    Where there is a transaction log they come about a second later, and one that carries the last sequence
    number stands for a run of successes without a ``cmd_id``. Without one they come at once.
    """

    def __init__(self, registry: TopicRegistry, session: Subscriber) -> None:
        self._registry = registry
        self._session = session
        self._waiting: list[_Settled] = []

    def settle(self, cmd_id: str, seq: int | None, status: Status, reason: str) -> None:
        """Acknowledge a command, once what it did is durable."""
        settled = _Settled(cmd_id, seq, status, reason)
        if self._waiting and settled.covers(self._waiting[-1]):
            self._waiting[-1] = settled
            return
        self._waiting.append(settled)
        if not self._registry.conflates:
            self.flush()
        elif len(self._waiting) == 1:
            self._registry.schedule.put(CONFLATION_SECONDS, self.flush)

    def flush(self) -> None:
        """Send what waits."""
        waiting, self._waiting = self._waiting, []
        if not waiting or self._session.closed:
            return
        try:
            self._registry.log.sync()
        except OSError as error:
            reason = f"not stored: the log could not be made durable ({error})"
            waiting = [_Settled(one.cmd_id, one.seq, "failure", one.reason or reason) for one in waiting]
        for one in waiting:
            self._session.deliver(Ack("persisted", one.status, one.cmd_id, one.seq, one.reason))


class Receipt:
    """What one command asked to be told, and telling it."""

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

    def give(self, ack_type: str, **said: Any) -> None:
        """Acknowledge, if it was asked for; ``said`` are further headers of the acknowledgement."""
        if ack_type not in self.asked:
            return
        command = self._command
        seq = getattr(command, "seq", None)
        said.setdefault("status", "success")
        self._session.deliver(Ack(ack_type, cmd_id=command.cmd_id, seq=seq, **said))

    def done(self, reason: str = "", **counts: Any) -> None:
        """The command is done: say so, with ``stats`` the counts."""
        self.give("processed", reason=reason)
        self.give("completed", reason=reason)
        if counts:
            self.give("stats", reason=reason, **counts)

    def persisted(self, reason: str = "", status: Status = "success") -> None:
        """Say that what the command did is durable, as soon as it is."""
        if "persisted" in self.asked:
            command = self._command
            self._persistence.settle(command.cmd_id, getattr(command, "seq", None), status, reason)

    def refused(self, refused: CommandRefusedError, *, persists: bool) -> None:
        """The command is not done, and why; ``persists``: it is one that is acknowledged as persisted."""
        self.give("processed", status="failure", reason=refused.reason)
        self.give("completed", status="failure", reason=refused.reason)
        if persists:
            self.persisted(refused.reason, "failure")
