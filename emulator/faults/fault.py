"""What a type of fault is, and what it is given when it strikes."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from typing import Any, Final, Literal, NamedTuple, Protocol, TypeAlias

from emulator.faults.holding import Hold, Moment, latest
from emulator.faults.message import Message
from emulator.rng import Draws


class FaultRefusedError(ValueError):
    """A fault that cannot be: says what is wrong, with which value, and what would do."""


LONGEST_SECONDS: Final = 1e9
"""Of a duration, as of what the clock is advanced by at a time: 31 years."""
LONGEST_TEXT: Final = 1_000


class Direction(StrEnum):
    """Where a fault strikes: on the way in, on the way out, or at the channel itself."""

    PUBLISH = "publish"
    DELIVER = "deliver"
    CONTROL = "control"


class Kind(StrEnum):
    """What a channel is made of."""

    MEMORY = "memory"
    KINESIS = "kinesis"
    RABBITMQ = "rabbitmq"
    TOPIC = "topic"


EVERY_KIND: Final = tuple(Kind)
STREAMS: Final = (Kind.MEMORY, Kind.KINESIS)
CARRIERS: Final = (Kind.MEMORY, Kind.KINESIS, Kind.RABBITMQ)
"""What RDSS messages travel on, several at a time."""


class Phase(IntEnum):
    """What a fault does to a call; the stage goes through them in this order."""

    CALL = 1
    """The whole call fails, and nothing below is asked."""
    ENTRY = 2
    """One message of the call is refused; the faults below do not see it."""
    CHANGE = 3
    """A message's bytes become others."""
    FLOW = 4
    """A message comes late, twice, or in another order."""
    CONTROL = 5
    """Something happens to the channel after the call."""


@dataclass(frozen=True, slots=True)
class Attribute:
    """A setting of a fault type. ``type``: number, integer, text, flag, choice or duration (seconds).

    A number, and a duration in seconds, is from ``least`` to ``most``; a text has ``longest`` characters.
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
        """Whether it is something between ``least`` and ``most``."""
        return self.type in {"number", "integer", "duration"}

    @property
    def bounds(self) -> str:
        """What it may be, in words; empty where its type says it."""
        if self.bounded:
            return f"{_plain(self.least)} to {_plain(self.most)}"
        return f"at most {self.longest} characters" if self.type == "text" else ""


def _plain(number: float) -> str:
    return str(int(number)) if float(number).is_integer() else str(number)


class Done(NamedTuple):
    """What a fault did, in words and in data."""

    did: str
    data: dict[str, Any] = {}  # noqa: RUF012 -- read only


@dataclass(frozen=True, slots=True)
class Failure:
    """How a call, or one entry of it, fails.

    ``error``: with an AWS error code. ``cut``: the connection closes without an
    answer. ``nothing``: a read that finds nothing, though there is something.
    ``written``: the call took effect before it failed.
    """

    code: str
    message: str
    status: int = 400
    kind: Literal["error", "cut", "nothing"] = "error"
    written: bool = False


@dataclass(slots=True, eq=False)
class Item:
    """One message of a call, and what the faults made of it.

    Published: ``data`` goes in, ``copies`` more times, or ``failure`` refuses it.
    Delivered: ``data`` goes out, not before ``visible_at``, behind ``overtaken_by``
    later messages but not later than ``patient_until``, and once more ``again``
    messages further on for each entry. Times in seconds since the epoch; they are
    the latest of ``hidden`` and of ``patience`` that still hold.
    """

    message: Message
    data: bytes
    copies: int = 0
    failure: Failure | None = None
    hidden: list[Moment] = field(default_factory=list)
    overtaken_by: int = 0
    patience: list[Moment] = field(default_factory=list)
    again: list[int] = field(default_factory=list)

    @property
    def visible_at(self) -> float:
        return latest(self.hidden)

    @property
    def patient_until(self) -> float:
        return latest(self.patience)


@dataclass(slots=True)
class Call:
    """One publish or one read, as the stage sees it.

    ``delay``: seconds before it is answered, the longest of ``delays`` that still holds.
    """

    channel: str
    kind: Kind
    direction: Direction
    items: list[Item]
    single: bool = False
    delays: list[Moment] = field(default_factory=list)
    failure: Failure | None = None
    actions: list[Callable[[], None]] = field(default_factory=list)

    @property
    def delay(self) -> float:
        return latest(self.delays)

    @property
    def untouched(self) -> bool:
        """Whether nothing was done to it."""
        return not self.failure and not self.delay and not self.actions


Control: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]
"""Does a Kinesis operation on the stream's backend. Raises KinesisError."""


class Target(Protocol):
    """A process or container that can be stopped in its tracks."""

    @property
    def name(self) -> str: ...

    def pause(self) -> None:
        """Halt it where it is. Raises ProcessLookupError when it is gone."""

    def resume(self) -> None:
        """Let it go on, if it is still there."""

    def kill(self) -> None:
        """End it at once, without a chance to tidy up."""


@dataclass(frozen=True, slots=True)
class Environment:
    """What a control fault can act on: the streams' backend, and processes by name."""

    control: Control | None
    targets: Mapping[str, Target]
    later: Callable[[float, Callable[[], None], Hold], None]
    """Call something after so many seconds of the clock, or when the fault is removed or the stage closes."""
    wait: Callable[[float], object]


@dataclass(frozen=True, slots=True)
class Hit:
    """A fault strikes ``item`` of ``call``. ``draws`` is the chance of this fault and this message alone.

    What it holds back it holds by ``hold``.
    """

    attributes: Mapping[str, Any]
    draws: Draws
    call: Call
    item: Item
    now: float
    world: Environment
    hold: Hold = field(default_factory=Hold)


def accepts(_attributes: Mapping[str, Any], _direction: Direction) -> None:
    """Any combination of attributes will do."""


@dataclass(frozen=True, slots=True)
class FaultType:
    """A type of fault: what people read about it, and what it does.

    ``inject`` does it to the hit's item or call, and says what was done; None
    when there was nothing to do it to. The first direction is the default.
    ``check`` raises FaultRefusedError for attributes that do not go together.
    """

    name: str
    description: str
    phase: Phase
    directions: tuple[Direction, ...]
    inject: Callable[[Hit], Done | None]
    attributes: tuple[Attribute, ...] = ()
    kinds: Sequence[Kind] = EVERY_KIND
    check: Callable[[Mapping[str, Any], Direction], None] = accepts
