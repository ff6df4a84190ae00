"""The fault stage: what happens to a message, decided from the seed, the fault and the message alone.

It knows no transport. A channel, an interceptor or a relay shows it each call
and does what the ``Call`` then says.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.active import ActiveFault
from emulator.faults.fault import (
    Call,
    Control,
    Direction,
    Environment,
    FaultRefusedError,
    FaultType,
    Hit,
    Item,
    Kind,
    Phase,
    Target,
)
from emulator.faults.injection import Handlers, Injection, injection_of, strike
from emulator.faults.message import Message
from emulator.faults.registry import TYPES, known_type
from emulator.faults.rules import check_record, concerning
from emulator.faults.targets import find_target
from emulator.faults.timers import Timers
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import Fault, FaultChange, NewFault


class UnknownFaultError(LookupError):
    """No fault of that name is in force."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no fault is named {name!r}; GET /faults lists those in force")


class FaultEngine:
    """The faults in force. Safe to use from several threads.

    ``control`` does Kinesis operations for the faults that act on a stream;
    ``targets`` are the processes that ``pause`` and ``kill`` can name. ``served`` gives the names of the
    streams that clients reach over HTTP: a queue may have the name of one.
    """

    def __init__(self, chance: Chance, clock: Clock, events: Events) -> None:
        self.control: Control | None = None
        self.targets: dict[str, Target] = {}
        self._chance = chance
        self._clock = clock
        self._events = events
        self._lock = threading.RLock()
        self._faults: dict[str, ActiveFault] = {}
        self.served: Callable[[], Iterable[str]] = tuple
        self._channels: set[tuple[str, Kind]] = set()
        self._concerned: dict[tuple[str, str | None, str], tuple[ActiveFault, ...]] = {}
        self._timers = Timers(clock)
        self._let_go_of = 0
        self._handlers = Handlers(self._perform, self._failed)

    def add(self, wanted: NewFault) -> Fault:
        """Put a fault in force.

        FaultRefusedError when it cannot be, or means nothing where it would strike.
        """
        type_ = known_type(wanted.type)
        self._see_served()
        with self._lock:
            name = wanted.name or self._free_name(type_.name)
            if name in self._faults:
                raise FaultRefusedError(
                    f"a fault named {name!r} is in force already: remove it, or choose another name"
                )
            record = Fault(
                name,
                type_.name,
                channel=wanted.channel or "*",
                direction=wanted.direction or type_.directions[0].value,
                toxicity=1.0 if wanted.toxicity is None else wanted.toxicity,
                attributes=wanted.attributes,
                when=wanted.when,
                limit=wanted.limit,
                enabled=wanted.enabled,
            )
            fault = self._activate(record)
        self._events.emit("fault.added", fault=name, type=type_.name, channel=record.channel)
        self._schedule(fault)
        return fault.record

    def change(self, name: str, wanted: FaultChange) -> Fault:
        """Change a fault; what it counted is kept. UnknownFaultError, or FaultRefusedError as ``add``."""
        self._see_served()
        with self._lock:
            before = self._active(name)
            given = {
                field: value
                for field in wanted.__struct_fields__
                if (value := getattr(wanted, field)) is not None
            }
            if "attributes" in given:
                given["attributes"] = {**before.attributes, **given["attributes"]}
            fault = self._activate(msgspec.structs.replace(before.record, **given), before)
        if not fault.record.enabled:
            self._let_go(before)
        self._events.emit("fault.changed", fault=name, **given)
        self._schedule(fault)
        return fault.record

    def remove(self, name: str) -> Fault:
        """Remove a fault, let go what it held, and return its final state. UnknownFaultError."""
        with self._lock:
            gone = self._active(name)
            del self._faults[name]
            self._concerned.clear()
        self._let_go(gone)
        self._events.emit("fault.removed", fault=name, injected=gone.injected)
        return gone.record

    def clear(self) -> None:
        """Remove every fault, and let go what they held."""
        for fault in self.list():
            self.remove(fault.name)

    def get(self, name: str) -> Fault:
        """A fault in force and how often it struck. UnknownFaultError."""
        with self._lock:
            return self._active(name).record

    def list(self) -> tuple[Fault, ...]:
        """The faults in force, in the order they were added."""
        with self._lock:
            return tuple(fault.record for fault in self._faults.values())

    def types(self) -> tuple[FaultType, ...]:
        """Every type of fault there is."""
        return tuple(TYPES.values())

    def settle(self) -> None:
        """Return once everything has happened that was to happen by now."""
        self._timers.settle()

    def close(self) -> None:
        """Forget what was to happen later."""
        self._timers.close()

    def saw(self, channel: str, kind: str) -> None:
        """Know that there is such a channel, so that a fault that means nothing there is refused."""
        self._channels.add((channel, Kind(kind)))

    @property
    def busy(self) -> bool:
        """Whether there are any faults."""
        return bool(self._faults)

    def wants(self, direction: str, channel: str | None, kind: str) -> bool:
        """Whether any fault may strike there; a channel of None asks whether there are any, spent or not."""
        if not self._faults:
            return False
        faults = self._concerning(direction, channel, kind)
        if not faults or channel is None:
            return bool(faults)
        now = self._clock.time()
        for fault in faults:  # noqa: SIM110 -- every call comes by here, and a generator costs as much as the rest
            if fault.alive(now):
                return True
        return False

    def publishing(
        self, channel: str, kind: str, messages: Iterable[Message], *, single: bool = False
    ) -> Call:
        """What becomes of messages put in one call. ``single``: a call that can only fail as a whole."""
        return self._meet(Direction.PUBLISH, channel, kind, messages, single=single)

    def delivering(self, channel: str, kind: str, messages: Iterable[Message]) -> Call:
        """What becomes of messages that one read of one shard found."""
        return self._meet(Direction.DELIVER, channel, kind, messages, single=False)

    async def delayed(self, call: Call, since: float | None = None) -> None:
        """Wait as long as ``call`` is delayed, from now or from ``since`` on the clock's ``elapsed``.

        What a fault that is removed meanwhile had it wait is over at once.
        """
        began = self._clock.elapsed() if since is None else since
        while (left := began + (delay := call.delay) - self._clock.elapsed()) > 0:
            await self._clock.sleep(left, lambda delay=delay: call.delay < delay)  # type: ignore[misc]

    def wait_for(self, call: Call) -> None:
        """As ``delayed``, on the caller's thread."""
        began = self._clock.elapsed()
        while (left := began + (delay := call.delay) - self._clock.elapsed()) > 0:
            self._clock.wait(left, lambda delay=delay: call.delay < delay)  # type: ignore[misc]

    def changes(self) -> Callable[[], bool]:
        """What says whether faults have been removed or switched off since this was asked."""
        seen = self._let_go_of
        return lambda: self._let_go_of != seen

    def act(self, call: Call) -> None:
        """Do what was to be done to the channel once the call took effect."""
        for action in call.actions:
            action()

    def _meet(
        self, direction: Direction, channel: str, kind: str, messages: Iterable[Message], *, single: bool
    ) -> Call:
        items = [Item(message, message.data) for message in messages]
        call = Call(channel, Kind(kind), direction, items, single)
        with self._lock:
            faults = self._concerning(direction, channel, call.kind)
            injections = strike(faults, call, self._clock.time(), self._world(), self._handlers)
        for injection in injections:
            self._tell(injection)
        return call

    def _let_go(self, fault: ActiveFault) -> None:
        """End what the fault holds back: calls, deliveries, processes that stand still."""
        fault.hold.ended = True
        self._let_go_of += 1
        self._timers.let_go(fault.hold)
        self._clock.nudge()

    def _concerning(self, direction: str, channel: str | None, kind: str) -> tuple[ActiveFault, ...]:
        asked = (direction, channel, kind)
        if (known := self._concerned.get(asked)) is not None:
            return known
        with self._lock:
            if len(self._concerned) > _REMEMBERED_QUESTIONS:
                self._concerned.clear()
            found = concerning(self._faults.values(), Direction(direction), channel, Kind(kind))
            self._concerned[asked] = found
            return found

    def _activate(self, record: Fault, before: ActiveFault | None = None) -> ActiveFault:
        type_ = known_type(record.type)
        check_record(record, type_, self._channels)
        since = before.added_at if before else self._clock.time()
        fault = ActiveFault(record, type_, self._chance, since, before)
        if "target" in fault.attributes:
            find_target(fault.attributes["target"], self.targets)
        self._faults[record.name] = fault
        self._concerned.clear()
        return fault

    def _see_served(self) -> None:
        """A stream that has the name of a queue is a place for a fault as well."""
        queues = {name for name, kind in tuple(self._channels) if kind is not Kind.KINESIS}
        if queues:
            self._channels |= {(name, Kind.KINESIS) for name in self.served() if name in queues}

    def _schedule(self, fault: ActiveFault) -> None:
        if fault.type.phase is Phase.CONTROL and fault.timed:
            due = fault.added_at + fault.when.at - self._clock.time()
            self._timers.later(max(due, 0.0), lambda: self._strike_on_time(fault))

    def _strike_on_time(self, fault: ActiveFault) -> None:
        with self._lock:
            in_force = self._faults.get(fault.name) is fault
            chosen = fault.chosen_on_time(self._clock.time()) if in_force else None
        if chosen is None:
            return
        for channel in self._channels_of(fault):
            fault.injected += 1
            nobody = Item(Message(b""), b"")
            call = Call(channel, Kind.KINESIS, Direction.CONTROL, [nobody])
            now, world = self._clock.time(), self._world()
            hit = Hit(fault.attributes, chosen.draws, call, nobody, now, world, fault.hold)
            self._perform(fault, hit)

    def _channels_of(self, fault: ActiveFault) -> Sequence[str]:
        wanted = fault.channel.rpartition(":")[2]
        if "target" in fault.attributes or self.control is None or not any(mark in wanted for mark in "*?["):
            return [wanted]
        names: Sequence[str] = self.control("ListStreams", {})["StreamNames"]
        return [name for name in names if fnmatchcase(name, wanted)]

    def _perform(self, fault: ActiveFault, hit: Hit) -> None:
        try:
            done = fault.type.inject(hit)
        except Exception as error:  # noqa: BLE001 -- told of as an event; what set it off has gone through
            self._failed(fault, hit, error)
            done = None
        if done is not None:
            self._tell(injection_of(fault, hit, done))
            return
        with self._lock:
            fault.injected -= 1

    def _failed(self, fault: ActiveFault, hit: Hit, error: Exception) -> None:
        why = str(error) or repr(error)
        self._events.emit(
            "fault.failed", fault=fault.name, type=fault.type.name, channel=hit.call.channel, why=why
        )

    def _tell(self, injection: Injection) -> None:
        self._events.emit("fault.injected", **injection._asdict())

    def _world(self) -> Environment:
        return Environment(self.control, self.targets, self._timers.at_the_latest, self._clock.wait)

    def _active(self, name: str) -> ActiveFault:
        if name not in self._faults:
            raise UnknownFaultError(name)
        return self._faults[name]

    def _free_name(self, type_name: str) -> str:
        if type_name not in self._faults:
            return type_name
        return next(name for n in itertools.count(2) if (name := f"{type_name}-{n}") not in self._faults)


_REMEMBERED_QUESTIONS = 1000
