"""What a reader has not been given yet: messages that faults have not met, and those that they hold back."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterable, Sequence
from math import inf
from typing import Any, Final, Generic, NamedTuple, Protocol, TypeVar

from emulator.faults.delayed_deliveries import DelayedDeliveries, Due
from emulator.faults.fault import Call, Failure, Hold, HoldTime
from emulator.faults.fault_point import CallFailedError, FaultPoint
from emulator.faults.faulted_message import Message

_Record = TypeVar("_Record")
_EVERYTHING: Final = 1 << 30
_COPY_PATIENCE: Final = 1.0
"""Seconds. Where messages come one by one, a copy waits so long for those that may come between."""


class LaterCalls(Protocol):
    """Does things later, beside its caller. What it returns cancels them."""

    def later(
        self, seconds: float, action: Callable[[], None], at_once: Callable[[], bool]
    ) -> Callable[[], object]:
        """Do ``action`` after ``seconds`` of the clock, or as soon as ``at_once()``."""

    def start(self, work: Coroutine[Any, Any, None]) -> Callable[[], object]:
        """Start ``work`` now."""


class Form(NamedTuple, Generic[_Record]):
    """What the faults see of an adaptor's records: the channel and the message of each.

    ``one_by_one`` says that records come singly. ``planned`` gets how many deliveries each will make.
    """

    channel: Callable[[_Record], str]
    message: Callable[[_Record], Message]
    one_by_one: bool = False
    planned: Callable[[_Record, int], None] = lambda _record, _times: None


class HeldDeliveries(Generic[_Record]):
    """The messages for one reader that asks for them: ``incoming``, which faults meet next, then held."""

    def __init__(self, point: FaultPoint, form: Form[_Record]) -> None:
        self._point = point
        self._form = form
        self._held: DelayedDeliveries[_Record] = DelayedDeliveries()
        self.incoming: deque[_Record] = deque()
        self._reading = asyncio.Lock()

    def __len__(self) -> int:
        return len(self.incoming) + len(self._held)

    def copy(self) -> HeldDeliveries[_Record]:
        """A copy for a second reader that goes on from the same position."""
        twin = HeldDeliveries(self._point, self._form)
        twin.incoming, twin._held = self.incoming.copy(), self._held.copy()
        return twin

    def add(self, records: Iterable[_Record]) -> None:
        """Take in records in the order in which they came."""
        self.incoming.extend(records)

    async def meet(self) -> None:
        """Let the faults strike the incoming records as one read of one channel, and wait for it.

        One read is made at a time. Raises CallFailedError; the records then stay for the next read.
        """
        async with self._reading:
            incoming, count = self.incoming, len(self.incoming)
            if not count:
                return
            call = self.plan(list(incoming))
            await self._point.wait(call)
            if call.failure:
                raise CallFailedError(call.failure)
            # Another queue means that all was given up while the faults made this wait.
            if self.incoming is incoming:
                self.hold(call, [incoming.popleft() for _ in range(count)])

    def plan(self, records: Sequence[_Record]) -> Call:
        """Decide what becomes of records of one channel."""
        return self._point.plan_delivery(self._form.channel(records[0]), map(self._form.message, records))

    def hold(self, call: Call, records: Iterable[_Record]) -> None:
        met = list(zip(call.items, records, strict=True))
        for item, record in met:
            if self._form.one_by_one and any(item.again):
                # Its hold never ends: no fault makes this wait.
                item.patience.append(HoldTime(Hold(), self._point.clock.time() + _COPY_PATIENCE))
            self._form.planned(record, 1 + len(item.again))
        self._held.add(met)

    def take(self, limit: int) -> list[Due[_Record]]:
        """Remove and return up to ``limit`` deliveries that are due."""
        return self._held.take(self._point.clock.time(), limit) if self._held else []

    def due_at(self) -> float | None:
        """When the next delivery is due at the latest, in seconds since the epoch; None if none is held."""
        return self._held.due_at() if self._held else None

    def drop(self) -> list[Due[_Record]]:
        """Give up all that waits, and return it."""
        dropped = [Due(record, b"", again=False) for record in self.incoming]
        self.incoming = deque()
        return dropped + self._held.take(inf, _EVERYTHING)


class PushedDeliveries(Generic[_Record]):
    """The messages for one reader, handed over when they are due.

    ``hand_over`` takes a delivery while there is ``room``. ``fail`` ends the reader, since a fault fails its
    read. A throttled message is met again later, and meanwhile keeps back those behind it. A delayed read
    hides its message for that time, because a reader that is pushed to does not wait for a call.
    """

    def __init__(
        self,
        point: FaultPoint,
        form: Form[_Record],
        scheduler: LaterCalls,
        *,
        hand_over: Callable[[Due[_Record]], object],
        fail: Callable[[Failure], object],
        room: Callable[[], bool] = lambda: True,
    ) -> None:
        self._point = point
        self._held = HeldDeliveries(point, form)
        self._scheduler = scheduler
        self._hand_over = hand_over
        self._fail = fail
        self._room = room
        self._failed = False
        self._cancel_look: Callable[[], object] | None = None
        self._cancel_retry: Callable[[], object] | None = None

    def __len__(self) -> int:
        return len(self._held)

    @property
    def throttled(self) -> bool:
        """Whether the next message waits to be met again."""
        return self._cancel_retry is not None

    def arrive(self, record: _Record) -> None:
        """Let the faults meet a message that came, and hand over what is due."""
        self._held.add([record])
        self.release()

    def release(self) -> None:
        """Hand over what is due, and look again when the next one is."""
        while self._held.incoming and not self.throttled and not self._failed:
            call = self._plan_first()
            if call.throttled:
                self._cancel_retry = self._scheduler.start(self._ask_again(call))
            else:
                self._hold_first(call)
        while not self._failed and self._room() and (due := self._held.take(1)):
            self._hand_over(due[0])
        self._look_later()

    def drop(self) -> list[Due[_Record]]:
        """Give up all that waits, and return it."""
        for cancel in (self._cancel_look, self._cancel_retry):
            if cancel is not None:
                cancel()
        self._cancel_look = self._cancel_retry = None
        return self._held.drop()

    async def _ask_again(self, call: Call) -> None:
        call = await self._point.wait_while_throttled(call, self._plan_first)
        self._cancel_retry = None
        self._hold_first(call)
        self.release()

    def _plan_first(self) -> Call:
        return self._held.plan([self._held.incoming[0]])

    def _hold_first(self, call: Call) -> None:
        if call.failure is not None:
            self._failed = True
            self._fail(call.failure)
            return
        now = self._point.clock.time()
        for item in call.items:
            item.hidden += [HoldTime(hold, now + seconds) for hold, seconds in call.delays]
        self._held.hold(call, [self._held.incoming.popleft()])

    def _look_later(self) -> None:
        if self._cancel_look is not None:
            self._cancel_look()
            self._cancel_look = None
        at = self._held.due_at()
        if at is not None and self._room() and not self._failed:
            pause = max(at - self._point.clock.time(), 0.001)
            self._cancel_look = self._scheduler.later(pause, self._look, self._is_due)

    def _look(self) -> None:
        self._cancel_look = None
        self.release()

    def _is_due(self) -> bool:
        at = self._held.due_at()
        return at is None or at <= self._point.clock.time()
