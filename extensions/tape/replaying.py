"""Replays a tape into a running sandbox, with its own spacing on the sandbox's clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count

from emulator.clock import Clock
from extensions.tape.filled_bodies import fill
from extensions.tape.replay_steps import Puts, list_steps
from extensions.tape.replay_target import ReplayTarget
from extensions.tape.tape_opening import Tape
from rdss_sandbox.shapes.tape import TapedChannel, TapedMessage, TapeEntry
from schemas.contract import Contract


@dataclass(frozen=True, slots=True)
class Excerpt:
    """What is replayed of a tape.

    It is from ``start`` on and before ``end``, in seconds since the epoch as the tape has them, into the
    channels of the tape or ``into`` another one; ``loop`` says to begin again at the end, and ``most`` is how
    many messages there are at most.
    """

    start: float | None = None
    end: float | None = None
    into: str | None = None
    loop: bool = False
    most: int | None = None


class Replay:
    """One replay of a tape. ``at`` is how far it is, in seconds since the epoch as the tape has them.

    ``speed`` is in seconds of the tape per real second, None for as fast as the sandbox takes them.
    """

    def __init__(self, tape: Tape, excerpt: Excerpt, speed: float | None, contract: Contract) -> None:
        self.tape = tape
        self.first = max(tape.first, excerpt.start or tape.first)
        self.last = min(tape.last, excerpt.end or tape.last)
        self.at = self.first
        self._excerpt = excerpt
        self._speed = speed
        self._contract = contract
        self._shaped: str | None = None

    def run(
        self, target: ReplayTarget, clock: Clock, stopped: Callable[[], bool], tell: Callable[[], None]
    ) -> None:
        """Replay until the end, or until ``stopped`` says so; ``clock`` is the sandbox's.

        ``tell`` is called after each step. Raises ``RefusedError`` and ``UnreachableError``.
        """
        began: float | None = None
        passed = 0.0
        left = self._excerpt.most
        for _ in count() if self._excerpt.loop else range(1):
            before = target.sent + target.lost
            for step in list_steps(self._take(left), self._speed):
                due = step.at - self.first + passed
                if began is None and isinstance(step, Puts):
                    # What has to be made first would come off the distance to the second message.
                    target.prepare(self._excerpt.into or step.channel, step.messages)
                    began = clock.elapsed() - due
                if stopped() or (began is not None and not self._wait(clock, began + due, stopped)):
                    return
                if isinstance(step, Puts):
                    target.put(self._excerpt.into or step.channel, step.messages)
                elif isinstance(step, TapedChannel):
                    self._shape(target, step)
                else:
                    target.refuse(self._excerpt.into or step.channel, step)
                self.at = step.messages[-1].at if isinstance(step, Puts) else step.at
                tell()
            done = target.sent + target.lost - before
            left = None if left is None else left - done
            if not done or left == 0:
                return
            passed += self.last - self.first

    def _wait(self, clock: Clock, until: float, stopped: Callable[[], bool]) -> bool:
        return self._speed is None or clock.wait(max(0.0, until - clock.elapsed()), stopped)

    def _shape(self, target: ReplayTarget, taped: TapedChannel) -> None:
        """Into one other channel go the shards of the first stream alone."""
        into = self._excerpt.into
        self._shaped = self._shaped or taped.channel
        if into is None or taped.channel == self._shaped:
            target.shape(into or taped.channel, taped)

    def _take(self, most: int | None) -> Iterator[TapeEntry]:
        """The entries of a pass, with the shards that there were before it, and ``most`` messages."""
        yield from self._find_shards()
        entries = self.tape.read(self._excerpt.start, self._excerpt.end)
        messages = 0
        for entry in entries:
            if isinstance(entry, TapedMessage):
                if messages == most:
                    return
                messages += 1
                yield fill(entry, self._contract, self.tape.first)
            else:
                yield entry

    def _find_shards(self) -> Iterator[TapeEntry]:
        if self._excerpt.start is None:
            return
        latest: dict[str, TapedChannel] = {}
        for entry in self.tape.read(None, self._excerpt.start):
            if isinstance(entry, TapedChannel):
                latest[entry.channel] = entry
        for each in latest.values():
            yield TapedChannel(self.first, each.channel, each.kind, each.shards, each.operation)
