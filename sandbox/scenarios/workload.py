"""The messages of a scenario; the same seed gives the same messages."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from emulator.rng import Chance
from rdss_sandbox.files.filed_messages import read_filed_messages
from rdss_sandbox.text.durations import seconds
from sandbox.scenarios.scenario import Workload
from schemas.bound import CONTRACT


@dataclass(frozen=True, slots=True)
class Offered:
    """A message that the application sends ``due`` seconds after the start.

    ``failure`` is the name of the one that happens to it, and ``code`` what it gets for that.
    """

    due: float
    data: bytes
    failure: str = ""
    code: str | None = None


def identity(data: bytes) -> str:
    """The name of a message in events: its id, or its first bytes where it has none."""
    peek = CONTRACT.peek(data)
    if peek.message_id is not None and not peek.damaged:
        return peek.message_id
    return f"unreadable {data[:24]!r}"


def make_messages(workload: Workload, seed: int, start: float) -> list[Offered]:
    """Make all messages of a workload, in order; ``start`` is in seconds since the epoch.

    Raises ValueError for a tape that cannot be read, and where there are no samples.
    """
    if workload.tape:
        return _read_tape(workload)
    if CONTRACT.samples is None:
        raise ValueError(f"the contract {CONTRACT.name} has no samples to send")
    samples = CONTRACT.samples.from_seed(seed, now=start)
    made = list(samples.stream(workload.messages))
    if CONTRACT.sequences:
        sizes = (workload.parts,) if isinstance(workload.parts, int) else workload.parts
        made += [samples.big_message(sizes[at % len(sizes)]) for at in range(workload.sequences)]
    else:
        made += samples.stream(workload.sequences)
    made += [samples.bad(CONTRACT.codes[code]) for code, n in workload.bad.items() for _ in range(n)]
    expires = start + seconds(workload.expires)
    made += [samples.message(expires=expires) for _ in range(workload.expiring)]
    Chance(seed).draws("scenario", "order").shuffle(made)
    return due_in_batches([each.data for each in made], workload)


def _read_tape(workload: Workload) -> list[Offered]:
    """The messages of a tape, at the distances from the first that they have there."""
    every = seconds(workload.every) or 1.0
    found = list(read_filed_messages(Path(workload.tape)))
    return [Offered((each.at - found[0].at) // every * every, each.data) for each in found]


def due_in_batches(messages: Iterable[bytes], workload: Workload) -> list[Offered]:
    """Offer the messages in the batches of a workload."""
    every = seconds(workload.every)
    return [Offered(at // workload.batch * every, data) for at, data in enumerate(messages)]
