"""The messages of a demonstration, generated or from files, each with the error code it must get."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from emulator.rng import Chance
from sandbox.demo.plan import BAD, OVERSIZE_TENANT, Plan
from schemas.contract import Code
from schemas.json_texts import documents
from schemas.rdss.contract import RDSS
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import SequenceError, split_raw
from schemas.rdss.verdicts import judge_unsent

_SUFFIXES = frozenset({".json", ".ndjson", ".jsonl"})
_FEWEST_PARTS, _MOST_PARTS = 2, 5


class UnusableFileError(ValueError):
    """A file that cannot be read, or has an oversize message that cannot be split."""


@dataclass(frozen=True, slots=True)
class Item:
    """A whole message, the parts in which it is sent, and its error code; None for a valid one."""

    data: bytes
    parts: tuple[bytes, ...]
    code: Code | None


def workload(plan: Plan, now: float) -> list[Item]:
    """Make all messages of the plan in sending order; ``now`` is in seconds since the epoch.

    Raises ``UnusableFileError``.
    """
    chance = Chance(plan.seed)
    messages = list(_of_files(plan.source, plan.seed, now) if plan.source else _generated(plan, now))
    ids = chance.draws("demo", "part ids")
    items = [_item(name, data, now, ids.uuid4) for name, data in messages]
    if plan.source is None:
        chance.draws("demo", "order").shuffle(items)
    return items


def _generated(plan: Plan, now: float) -> Iterator[tuple[str, bytes]]:
    samples = Samples(plan.seed, now=now)
    for message in samples.stream(plan.messages):
        yield "a generated message", serialise(message)
    for number in range(plan.sequences):
        parts = _FEWEST_PARTS + number % (_MOST_PARTS - _FEWEST_PARTS + 1)
        yield "a generated sequence", serialise(samples.big_message(parts))
    for code in BAD:
        for _ in range(plan.bad):
            yield f"a bad message for {code}", samples.bad(code)
    for _ in range(plan.oversize):
        message = samples.message("MetadataCreate")
        message["messageHeader"]["tenantJiscID"] = OVERSIZE_TENANT
        yield "a message to grow", serialise(message)


def _of_files(directory: Path, seed: int, now: float) -> Iterator[tuple[str, bytes]]:
    """Yield the messages in the files of a directory; equal messages are sent once."""
    if not directory.is_dir():
        raise UnusableFileError(f"{directory} is not a directory; give one that holds messages as JSON")
    sent: set[bytes] = set()
    for path in sorted(path for path in directory.rglob("*") if path.suffix in _SUFFIXES):
        try:
            found = list(documents(str(path), path.read_bytes().splitlines(keepends=True)))
        except OSError as error:
            raise UnusableFileError(f"{path} cannot be read: {error.strerror}") from error
        for number, document in enumerate(found, start=len(sent)):
            data = RDSS.documents.complete(document.raw, seed=seed + number, now=now)
            if data not in sent:
                sent.add(data)
                yield document.place, data
    if not sent:
        raise UnusableFileError(f"{directory} holds no message in {', '.join(sorted(_SUFFIXES))} files")


def _item(name: str, data: bytes, now: float, new_id: Callable[[], str]) -> Item:
    try:
        parts = split_raw(data, new_id=new_id)
    except SequenceError as error:
        raise UnusableFileError(f"{name} has {len(data):,} bytes and cannot be split: {error}") from error
    return Item(data, tuple(parts), judge_unsent(data, now=now).code)
