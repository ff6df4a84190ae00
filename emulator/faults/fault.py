"""The shapes of the fault engine: a fault type, a call, its items, and a hit."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from emulator.clock import Clock
from emulator.faults.faulted_message import Message
from emulator.rng import Draws


class FaultRefusedError(ValueError):
    """A fault that is invalid. The text says what is wrong, with which value, and what to give instead."""


LONGEST_SECONDS: Final = 1e9
"""The longest duration, in seconds, and the most that the clock advances in one request: 31 years."""
LONGEST_TEXT: Final = 1_000
"""Characters."""
THROTTLED: Final = "ProvisionedThroughputExceededException"
"""The code of a failure for lack of throughput."""


class Hold:
    """Shared by everything that one fault delays, which ends with the fault.

    ``ended`` once the fault is removed or switched off.
    """

    __slots__ = ("ended",)

    def __init__(self) -> None:
        self.ended = False


class HoldTime(NamedTuple):
    """A delay in seconds, or a moment in seconds since the epoch, that counts until ``hold`` has ended."""

    hold: Hold
    seconds: float


def latest(moments: Iterable[HoldTime]) -> float:
    """The greatest ``seconds`` among the moments whose hold has not ended; 0 when there are none."""
    return max((seconds for hold, seconds in moments if not hold.ended), default=0.0)


class Direction(StrEnum):
    """Where a fault strikes: on the way in, on the way out, or at the channel itself."""

    PUBLISH = "publish"
    DELIVER = "deliver"
    CONTROL = "control"


STREAMS: Final = ("memory", "kinesis")
"""The kinds of channel that are streams of shards."""
CARRIERS: Final = (*STREAMS, "rabbitmq")
"""The kinds of channel that carry RDSS messages, several in one call."""


class Phase(IntEnum):
    """What a fault does to a call. The fault engine runs the phases in this order."""

    CALL = 1
    """The whole call fails, and later phases are skipped."""
    ENTRY = 2
    """One message of the call is refused, and later phases do not see it."""
    CHANGE = 3
    """A message's bytes change."""
    FLOW = 4
    """A message comes late, twice, or in another order."""
    CONTROL = 5
    """An action on the channel follows the call."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A setting of a fault type. ``type``: number, integer, text, flag, choice or duration (seconds).

    A number or a duration lies between ``least`` and ``most``. A text has at most ``longest`` characters.
    """

    name: str
    type: Literal["number", "integer", "text", "flag", "choice", "duration"]
    default: Any
    description: str
    unit: str = ""
    choices: tuple[str, ...] = ()
    least: float = 0
    most: float = LONGEST_SECONDS
    longest: int = LONGEST_TEXT

    @property
    def bounded(self) -> bool:
        """Whether ``least`` and ``most`` apply to it."""
        return self.type in {"number", "integer", "duration"}

    @property
    def bounds(self) -> str:
        """The values it may have, in words; empty where its type says it."""
        if self.bounded:
            return f"{_render_number(self.least)} to {_render_number(self.most)}"
        return f"at most {self.longest} characters" if self.type == "text" else ""


def _render_number(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


class Done(NamedTuple):
    """What a fault did: ``did`` in words, ``data`` for programs."""

    did: str
    data: dict[str, Any] = {}  # noqa: RUF012 -- read only


@dataclass(frozen=True, slots=True)
class Failure:
    """How a call, or one entry of it, fails.

    ``kind`` is ``error`` for an AWS error code, ``cut`` for a connection that closes
    without an answer, and ``nothing`` for a read that misses the records that are there.
    ``written`` says that the call took effect before it failed.
    """

    code: str
    message: str
    status: int = 400
    kind: Literal["error", "cut", "nothing"] = "error"
    written: bool = False


@dataclass(slots=True, eq=False)
class Item:
    """One message of a call, and what the faults made of it.

    ``data`` is the message with its headers, as the contract judges it.

    On publish, ``data`` is put once and ``copies`` more times, or ``failure`` refuses it.

    On delivery, ``data`` is delivered after ``visible_at``. ``overtaken_by`` later messages
    go first, unless ``patient_until`` comes before them. Each number in ``again`` is one more
    delivery, that many messages later. Readers are told that it came at ``arrived``, where
    their transport tells it at all. Times are seconds since the epoch. Each is the latest
    moment in ``hidden`` or ``patience`` whose fault is still in force.
    """

    message: Message
    data: bytes
    copies: int = 0
    failure: Failure | None = None
    hidden: list[HoldTime] = field(default_factory=list)
    overtaken_by: int = 0
    patience: list[HoldTime] = field(default_factory=list)
    again: list[int] = field(default_factory=list)
    arrived: float = field(init=False)

    def __post_init__(self) -> None:
        self.arrived = self.message.arrived or 0.0

    @property
    def visible_at(self) -> float:
        return latest(self.hidden)

    @property
    def patient_until(self) -> float:
        return latest(self.patience)


@dataclass(slots=True)
class Call:
    """One publish or one read, and what the faults made of it.

    ``delay`` is how many seconds the answer waits, from ``began`` on the clock's ``elapsed``: the longest of
    ``delays`` whose fault is still in force. ``is_outdated`` says whether a fault was removed or switched off
    since the call was planned.
    """

    channel: str
    kind: str
    direction: Direction
    items: list[Item]
    single: bool = False
    delays: list[HoldTime] = field(default_factory=list)
    failure: Failure | None = None
    actions: list[Callable[[], None]] = field(default_factory=list)
    began: float = 0.0
    is_outdated: Callable[[], bool] = lambda: False

    @property
    def delay(self) -> float:
        return latest(self.delays)

    @property
    def throttled(self) -> bool:
        """Whether the call, or its only message, is refused for lack of throughput."""
        # Of a call of many, an entry's refusal is no refusal of the call.
        failure = self.failure or (self.items[0].failure if len(self.items) == 1 else None)
        return failure is not None and failure.kind == "error" and failure.code == THROTTLED


Control: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Does one Kinesis operation (name, request) on the stream's backend. Raises KinesisError."""


class Target(Protocol):
    """A process or container that a fault can pause or kill."""

    @property
    def name(self) -> str: ...

    def pause(self) -> None:
        """Halt it. Raises ProcessLookupError when it is gone."""

    def resume(self) -> None:
        """Let it go on, if it is still there."""

    def kill(self) -> None:
        """End it at once, without a chance to clean up."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What a fault can act on beside its message: the streams' backend, targets by name, the clock."""

    control: Control | None
    targets: Mapping[str, Target]
    call_later: Callable[[float, Callable[[], None], Hold], None]
    """Call something after that many clock seconds, or when the fault is removed or the engine closes."""
    clock: Clock


@dataclass(frozen=True, slots=True)
class Hit:
    """One strike: a fault meets ``item`` of ``call`` at ``now``, in seconds since the epoch.

    ``draws`` is a stream of chance for this fault and this message alone. What the fault
    delays or pauses refers to ``hold``, so that removing the fault ends it.
    """

    attributes: Mapping[str, Any]
    draws: Draws
    call: Call
    item: Item
    now: float
    environment: Environment
    hold: Hold = field(default_factory=Hold)


def accept_any(_attributes: Mapping[str, Any], _direction: Direction) -> None:
    """Accept any combination of attributes."""


@dataclass(frozen=True, slots=True)
class FaultType:
    """A type of fault: what people read about it, and what it does.

    ``inject`` changes the hit's item or call and returns what it did, or None when it
    does not apply to this message. The first direction is the default. ``kinds`` are the kinds of channel
    that it is for; empty, it is for every kind. ``check`` raises FaultRefusedError for attributes that do not
    go together.
    """

    name: str
    description: str
    phase: Phase
    directions: tuple[Direction, ...]
    inject: Callable[[Hit], Done | None]
    attributes: tuple[Attribute, ...] = ()
    kinds: tuple[str, ...] = ()
    check: Callable[[Mapping[str, Any], Direction], None] = accept_any
