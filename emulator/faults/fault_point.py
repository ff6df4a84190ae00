"""Where messages meet the fault engine: its plans are carried out here, for every transport.

    publish(messages)                              deliveries of a reader
        |                                              |
    FaultPoint.plan_publish                        HeldDeliveries.add, or PushedDeliveries.arrive
        |                                              |
        +----------------> FaultEngine <---------------+
                 decides: Call, one Item a message
        |                                              |
    FaultPoint.publish(call, put)                  wait for the call, or be refused
        wait, or be refused                            |
        put what was not refused, then the copies      hold each back until it is due, once or again
        run the actions                                |
        |                                              |
    outcomes, one an item                          take(limit), or hand_over(due)

An adaptor says how its transport puts messages, what they look like, and how it refuses. It waits ``OnLoop``
or ``OnThread``.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Coroutine, Iterable, Sequence
from typing import Any, TypeVar

from emulator.clock import Clock
from emulator.faults.fault import Call, Direction, Failure, Item
from emulator.faults.fault_engine import FaultEngine
from emulator.faults.faulted_message import Message
from emulator.faults.waits import Waits

_Outcome = TypeVar("_Outcome")
_Result = TypeVar("_Result")


class CallFailedError(Exception):
    """A fault fails a publish or a read as a whole."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(f"{failure.code}: {failure.message}")
        self.failure = failure


class FaultPoint:
    """The point of one kind of channel at which faults strike.

    A throttled message is tried again after ``retry_seconds`` where the transport has no answer for it.
    """

    def __init__(
        self, fault_engine: FaultEngine, clock: Clock, kind: str, waits: Waits, retry_seconds: float = 1.0
    ) -> None:
        self.clock = clock
        self._fault_engine = fault_engine
        self._kind = kind
        self._waits = waits
        self._retry_seconds = retry_seconds
        self._known: set[str] = set()
        self.publishes = fault_engine.index(Direction.PUBLISH, kind)
        """The channels on which a fault may strike a publish now."""
        self.deliveries = fault_engine.index(Direction.DELIVER, kind)
        """The channels on which a fault may strike a delivery now."""

    def note_channel(self, channel: str) -> None:
        """Tell the fault engine once that there is a channel of this name."""
        if channel and channel not in self._known:
            self._known.add(channel)
            self._fault_engine.note_channel(channel, self._kind)

    def plan_publish(self, channel: str, messages: Iterable[Message], *, single: bool) -> Call:
        """Decide what becomes of one put; ``single`` marks a call that can only fail as a whole."""
        return self._fault_engine.plan_publish(channel, self._kind, messages, single=single)

    def plan_delivery(self, channel: str, messages: Iterable[Message]) -> Call:
        """Decide what becomes of the messages that one read found."""
        return self._fault_engine.plan_delivery(channel, self._kind, messages)

    async def publish(
        self,
        call: Call,
        put: Callable[[Sequence[Item], int], Awaitable[Sequence[_Outcome]]],
        taken: Callable[[_Outcome], bool] = lambda _: True,
    ) -> list[_Outcome | Failure]:
        """Carry out the plan of a publish, and return what became of each item.

        ``put(items, turn)`` puts items: the messages themselves in turn 0, their copies in later turns. A
        copy is a producer's retry, so the outcome of an item is that of its last put, unless that was not
        ``taken``. Raises CallFailedError when the call as a whole fails, after the puts if it is ``written``.
        """
        await self.wait(call)
        if call.failure and not call.failure.written:
            raise CallFailedError(call.failure)
        outcomes: dict[Item, _Outcome | Failure] = {item: item.failure for item in call.items if item.failure}
        left = [item for item in call.items if not item.failure]
        turn = 0
        while left:
            for item, outcome in zip(left, await put(left, turn), strict=True):
                if item not in outcomes or taken(outcome):
                    outcomes[item] = outcome
            turn += 1
            # A producer tries again behind its whole batch, and not between its messages.
            left = [item for item in left if item.copies >= turn]
        if call.actions:
            # A resharding waits for the stream, and must not hold up the loop.
            await self._waits.run(lambda: [action() for action in call.actions])
        if call.failure:
            raise CallFailedError(call.failure)
        return [outcomes[item] for item in call.items]

    async def publish_one(self, call: Call, put: Callable[[Item, int], object]) -> Failure | None:
        """Carry out the plan of a publish of one message with ``put(item, turn)``; return why it failed."""

        async def put_items(items: Sequence[Item], turn: int) -> list[None]:
            put(items[0], turn)
            return [None]

        try:
            (failure,) = await self.publish(call, put_items)
        except CallFailedError as failed:
            return failed.failure
        return failure

    async def wait(self, call: Call) -> None:
        """Wait for the delay of a call, from when it was planned. It ends when its fault is removed."""
        while (left := call.began + (delay := call.delay) - self.clock.elapsed()) > 0:
            await self._waits.sleep(left, lambda delay=delay: call.delay < delay)  # type: ignore[misc]

    async def wait_while_throttled(self, call: Call, plan: Callable[[], Call]) -> Call:
        """Ask again with ``plan`` until the call is not throttled; return the call that passes."""
        while call.throttled:
            await self._waits.sleep(self._retry_seconds, call.is_outdated)
            call = plan()
        return call


def run_blocking(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine that only ever waits by blocking its thread, as with ``OnThread``."""
    try:
        work.send(None)
    except StopIteration as done:
        result: _Result = done.value
        return result
    work.close()
    raise RuntimeError("it waits on an event loop, and none runs here")
