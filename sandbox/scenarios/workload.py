"""The messages of a scenario; the same seed gives the same messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from emulator.rng import Chance
from rdss_sandbox.durations import seconds
from rdss_sandbox.timestamps import timestamp
from sandbox.scenarios.scenario import Workload
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples


@dataclass(frozen=True, slots=True)
class Offered:
    """A message that the application sends ``due`` seconds after the start."""

    due: float
    data: bytes


def identity(data: bytes) -> str:
    """The name of a message in events: its messageId, or its first bytes where it has none."""
    seen = peek(data)
    if seen.message_id is not None and not seen.damaged:
        return seen.message_id
    return f"unreadable {data[:24]!r}"


def make_messages(workload: Workload, seed: int, start: float) -> list[Offered]:
    """Make all messages of a workload, in order; ``start`` is in seconds since the epoch."""
    samples = Samples(seed, now=start)
    messages = [serialise(message) for message in samples.stream(workload.messages)]
    messages += [serialise(samples.big_message(workload.parts)) for _ in range(workload.sequences)]
    messages += [samples.bad(ErrorCode[code]) for code, count in workload.bad.items() for _ in range(count)]
    expires = timestamp(start + seconds(workload.expires))
    messages += [serialise(_expiring(samples.message(), expires)) for _ in range(workload.expiring)]
    Chance(seed).draws("scenario", "order").shuffle(messages)
    every = seconds(workload.every)
    return [Offered(at // workload.batch * every, data) for at, data in enumerate(messages)]


def _expiring(message: dict[str, Any], expires: str) -> dict[str, Any]:
    message["messageHeader"]["messageTimings"]["expirationTimestamp"] = expires
    return message
