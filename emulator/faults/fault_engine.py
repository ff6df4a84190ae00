"""The fault engine decides what happens to a message, from the seed, the fault and the message alone.

It knows no transport, and does nothing itself: ``fault_point`` has the picture, and carries out its plans::

    messages --> Call: one Item each --> the faults of the channel, in phases --> the plan, in Call and Item
                                         CALL > ENTRY > CHANGE > FLOW > CONTROL

    call.delay     wait                                 item.failure   refuse this entry
    call.failure   fail the call, written or not        item.data      the bytes, perhaps changed
    call.actions   reshard, pause, kill ...             item.copies    put it again (publish)
                   when the call has taken effect       item.hidden, overtaken_by, again    hold (delivery)
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from fnmatch import fnmatchcase
from functools import partial
from typing import Final

import msgspec

from emulator.clock import Clock
from emulator.events import Events
from emulator.faults.active import ActiveFault, SavedFault
from emulator.faults.fault import (
    Call,
    Control,
    Direction,
    Environment,
    FaultRefusedError,
    FaultType,
    Hit,
    Item,
    Phase,
    Target,
)
from emulator.faults.fault_index import FaultIndex
from emulator.faults.faulted_message import Message
from emulator.faults.injection import ControlHandlers, Injection, build_injection, strike
from emulator.faults.rules import check_record, matches_channel
from emulator.faults.targets import find_target
from emulator.faults.timers import Timers
from emulator.rng import Chance
from rdss_sandbox.shapes.faults import Fault, FaultChange, NewFault
from schemas.bound import CONTRACT
from schemas.contract import Contract

_MOST_NAMED: Final = 20
_encode: Final = msgspec.msgpack.Encoder().encode
_decode: Final = msgspec.msgpack.Decoder(SavedFault).decode


class UnknownFaultError(LookupError):
    """No fault of that name is in force."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no fault is named {name!r}; GET /faults lists those in force")


MOST_FAULTS: Final = 200
"""In force at a time. Each message meets every one of them."""


class FaultEngine:
    """The faults in force, which strike messages of one contract. Safe to use from several threads.

    What may be struck besides messages: ``control`` does Kinesis operations for the faults that act on a
    stream; ``streams`` gives the names of the streams there are, and where they are ``served`` over HTTP
    they are known before they are used; ``targets`` are the processes and containers that ``pause``,
    ``kill`` and ``isolate`` can name.
    """

    def __init__(
        self,
        chance: Chance,
        clock: Clock,
        events: Events,
        *,
        contract: Contract = CONTRACT,
        control: Control | None = None,
        streams: Callable[[], Iterable[str]] = tuple,
        served: bool = False,
        targets: Mapping[str, Target] | None = None,
    ) -> None:
        self._chance = chance
        self._clock = clock
        self._events = events
        self._contract = contract
        # Extensions import this module: theirs are looked for when they are there.
        from emulator.faults.registry import known_type, list_types

        self._types = list_types(contract)
        self._find_type = partial(known_type, types=self._types)
        self._lock = threading.RLock()
        self._faults: dict[str, ActiveFault] = {}
        self._streams = streams
        self._served = served
        self._targets = dict(targets or {})
        self._channels: set[tuple[str, str]] = set()
        self._indexes: dict[tuple[Direction, str], FaultIndex] = {}
        self._timers = Timers(clock, events)
        self._environment = Environment(control, self._targets, self._timers.call_at_latest, clock)
        self._removals = 0
        self._handlers = ControlHandlers(self._perform, self._emit_failure)

    def add(self, new_fault: NewFault) -> Fault:
        """Put a fault in force and return it.

        Raises FaultRefusedError when the fault is invalid, or means nothing on its channel.
        """
        type_ = self._find_type(new_fault.type)
        self._note_streams()
        with self._lock:
            if len(self._faults) >= MOST_FAULTS:
                raise FaultRefusedError(f"{MOST_FAULTS} faults are in force, which is the most: remove one")
            name = new_fault.name or self._free_name(type_.name)
            if name in self._faults:
                raise FaultRefusedError(
                    f"a fault named {name!r} is in force already: remove it, or choose another name"
                )
            record = Fault(
                name,
                type_.name,
                channel=new_fault.channel or "*",
                direction=new_fault.direction or type_.directions[0].value,
                toxicity=1.0 if new_fault.toxicity is None else new_fault.toxicity,
                attributes=new_fault.attributes,
                when=new_fault.when,
                limit=new_fault.limit,
                enabled=new_fault.enabled,
            )
            fault = self._activate(record, type_)
        self._events.emit("fault.added", fault=name, type=type_.name, channel=record.channel)
        self._schedule(fault)
        return msgspec.structs.replace(fault.record, note=self._describe_absence(fault))

    def change(self, name: str, change: FaultChange) -> Fault:
        """Change a fault and keep its counts. Raises UnknownFaultError, and FaultRefusedError as ``add``."""
        self._note_streams()
        with self._lock:
            before = self._find_active(name)
            given = {
                field: value
                for field in change.__struct_fields__
                if (value := getattr(change, field)) is not None
            }
            if "attributes" in given:
                given["attributes"] = {**before.attributes, **given["attributes"]}
            fault = self._activate(msgspec.structs.replace(before.record, **given), before.type, before)
        if not fault.record.enabled:
            self._release(before)
        self._events.emit("fault.changed", fault=name, **given)
        self._schedule(fault)
        return fault.record

    def remove(self, name: str) -> Fault:
        """Remove a fault, release what it held, and return its final state. Raises UnknownFaultError."""
        with self._lock:
            gone = self._find_active(name)
            del self._faults[name]
            self._update_indexes()
        self._release(gone)
        self._events.emit("fault.removed", fault=name, injected=gone.injected)
        return gone.record

    @property
    def seed(self) -> int:
        """The seed that everything random is drawn from."""
        return self._chance.seed

    def reseed(self, seed: int) -> None:
        """Draw from another seed, for the faults that are added from now on."""
        self._chance = Chance(seed)

    def clear(self) -> None:
        """Remove every fault, and release what they held."""
        for fault in self.list():
            self.remove(fault.name)

    def save(self) -> list[bytes]:
        """Return a copy of every fault and what it remembers, for ``load``. What they hold is left out."""
        with self._lock:
            return [_encode(fault.save()) for fault in self._faults.values()]

    def load(self, saved: Iterable[bytes | memoryview]) -> tuple[str, ...]:
        """Replace every fault by those that were saved; say which cannot be in force here, and why."""
        self.clear()
        refused = []
        for payload in saved:
            found = _decode(payload)
            try:
                with self._lock:
                    fault = self._activate(found.record, self._find_type(found.record.type))
                    fault.recall(found)
            except FaultRefusedError as error:
                refused.append(f"the fault {found.record.name} is left out: {error}")
                continue
            self._events.emit(
                "fault.added", fault=fault.name, type=fault.type.name, channel=found.record.channel
            )
            self._schedule(fault)
        return tuple(refused)

    def get(self, name: str) -> Fault:
        """A fault in force, with the number of its injections. Raises UnknownFaultError."""
        with self._lock:
            return self._find_active(name).record

    def list(self) -> tuple[Fault, ...]:
        """The faults in force, in the order they were added."""
        with self._lock:
            return tuple(fault.record for fault in self._faults.values())

    def types(self) -> tuple[FaultType, ...]:
        return tuple(self._types.values())

    def run_due(self) -> None:
        """Run every timed action that is due, and return when all are done."""
        self._timers.run_due()

    def close(self) -> None:
        """Stop the timers. What a fault still holds, such as a paused process, is released."""
        self._timers.close()

    def note_channel(self, channel: str, kind: str) -> None:
        """Remember that there is such a channel, so that ``add`` refuses a fault that means nothing there."""
        self._channels.add((channel, kind))

    def add_target(self, name: str, target: Target) -> None:
        """Let faults name a process that was started just now; it takes the place of an earlier one."""
        self._targets[name] = target

    @property
    def targets(self) -> tuple[str, ...]:
        """The names of the processes and containers that a fault may strike."""
        return tuple(self._targets)

    def index(self, direction: Direction, kind: str) -> FaultIndex:
        """The faults that may strike in a direction on a kind of channel, always up to date."""
        with self._lock:
            if (direction, kind) not in self._indexes:
                self._indexes[direction, kind] = FaultIndex(kind, self._clock)
                self._update_indexes()
            return self._indexes[direction, kind]

    def plan_publish(
        self, channel: str, kind: str, messages: Iterable[Message], *, single: bool = False
    ) -> Call:
        """Decide what becomes of the messages of one put.

        ``single`` marks a call of one message that can only fail as a whole.
        """
        return self._plan(Direction.PUBLISH, channel, kind, messages, single=single)

    def plan_delivery(self, channel: str, kind: str, messages: Iterable[Message]) -> Call:
        """Decide what becomes of the messages that one read of one shard found."""
        return self._plan(Direction.DELIVER, channel, kind, messages, single=False)

    def _plan(
        self, direction: Direction, channel: str, kind: str, messages: Iterable[Message], *, single: bool
    ) -> Call:
        items = []
        for message in messages:
            message.contract = self._contract
            items.append(Item(message, message.text))
        removals = self._removals
        call = Call(
            channel,
            kind,
            direction,
            items,
            single,
            began=self._clock.elapsed(),
            is_outdated=lambda: self._removals != removals,
        )
        with self._lock:
            faults = self.index(direction, kind).find(channel)
            injections = strike(faults, call, self._clock.time(), self._environment, self._handlers)
        for injection in injections:
            self._emit_injection(injection)
        return call

    def _release(self, fault: ActiveFault) -> None:
        """End what the fault holds: delayed calls, hidden deliveries, paused processes."""
        fault.hold.ended = True
        # A call that waits is asked whether it was planned with a fault that is gone.
        self._removals += 1
        self._timers.release(fault.hold)
        # Only then whoever waits by the clock asks whether to go on waiting.
        self._clock.nudge()

    def _update_indexes(self) -> None:
        # By name within a phase: the order in which faults were added must not matter.
        in_order = sorted(self._faults.values(), key=lambda fault: (fault.type.phase, fault.name))
        striking = [
            [fault for fault in in_order if fault.strikes_on(kind, direction)]
            for direction, kind in self._indexes
        ]
        for index, faults in zip(self._indexes.values(), striking, strict=True):
            index.replace(faults)

    def _activate(self, record: Fault, type_: FaultType, before: ActiveFault | None = None) -> ActiveFault:
        # A kind that a type is for is one, also where no channel of it is open yet.
        kinds: dict[str, set[Direction]] = {kind: set() for _, kind in self._indexes}
        for each in self._types.values():
            for kind in each.kinds:
                kinds.setdefault(kind, set()).update(each.directions)
        check_record(record, type_, self._channels, kinds)
        since = before.added_at if before else self._clock.time()
        fault = ActiveFault(record, type_, self._chance, since, contract=self._contract, before=before)
        if "target" in fault.attributes:
            # Whoever mistypes a target is told here, and not by a strike.
            find_target(fault.attributes["target"], self._targets)
        self._faults[record.name] = fault
        self._update_indexes()
        return fault

    def _note_streams(self) -> None:
        """Note the streams, of which nothing else tells before they are used over HTTP."""
        if self._served:
            self._channels |= {(name, "kinesis") for name in self._streams()}

    def _describe_absence(self, fault: ActiveFault) -> str:
        """Say that nothing has the name of the fault's channel; empty where something has, or need not."""
        if not self._served or "target" in fault.attributes:
            return ""
        known = self._channels | {(name, "kinesis") for name in self._streams()}
        channel = fault.record.channel
        if channel == "*" or any(matches_channel(channel, name, kind) for name, kind in known):
            return ""
        # A broker's own names are of no use to whoever mistyped one.
        named = sorted({name for name, _ in known if not name.startswith("amq.")})
        there = ", ".join(named[:_MOST_NAMED]) or "none"
        return f"there is no channel {channel!r} yet; there are: {there}"

    def _schedule(self, fault: ActiveFault) -> None:
        if fault.type.phase is Phase.CONTROL and fault.timed:
            due = fault.added_at + fault.when.at - self._clock.time()
            self._timers.call_later(max(due, 0.0), lambda: self._strike_on_time(fault))

    def _strike_on_time(self, fault: ActiveFault) -> None:
        with self._lock:
            # A change puts another in its place, which has a timer of its own.
            in_force = self._faults.get(fault.name) is fault
            chosen = fault.choose_on_time(self._clock.time()) if in_force else None
        if chosen is None:
            return
        for channel in self._find_channels(fault):
            fault.injected += 1
            no_message = Item(Message(b""), b"")
            call = Call(channel, "kinesis", Direction.CONTROL, [no_message])
            now, environment = self._clock.time(), self._environment
            hit = Hit(fault.attributes, chosen.draws, call, no_message, now, environment, fault.hold)
            self._perform(fault, hit)

    def _find_channels(self, fault: ActiveFault) -> Sequence[str]:
        channel = fault.channel.rpartition(":")[2]
        if (
            "target" in fault.attributes
            or self._environment.control is None
            or not any(mark in channel for mark in "*?[")
        ):
            return [channel]
        return [name for name in self._streams() if fnmatchcase(name, channel)]

    def _perform(self, fault: ActiveFault, hit: Hit) -> None:
        try:
            done = fault.type.inject(hit)
        except Exception as error:  # noqa: BLE001 -- an event tells of it; the call that set it off has succeeded
            self._emit_failure(fault, hit, error)
            done = None
        if done is not None:
            self._emit_injection(build_injection(fault, hit, done))
            return
        # It was counted when it was planned, so that ``limit`` holds for calls that run at the same time.
        with self._lock:
            fault.injected -= 1

    def _emit_failure(self, fault: ActiveFault, hit: Hit, error: Exception) -> None:
        why = str(error) or repr(error)
        self._events.emit(
            "fault.failed", fault=fault.name, type=fault.type.name, channel=hit.call.channel, why=why
        )

    def _emit_injection(self, injection: Injection) -> None:
        self._events.emit("fault.injected", **injection._asdict())

    def _find_active(self, name: str) -> ActiveFault:
        if name not in self._faults:
            raise UnknownFaultError(name)
        return self._faults[name]

    def _free_name(self, type_name: str) -> str:
        if type_name not in self._faults:
            return type_name
        return next(name for n in itertools.count(2) if (name := f"{type_name}-{n}") not in self._faults)
