"""Faults that the sandbox had once, each put back into the code of today, for the search to find.

``python -m tests.simulation.past_bugs`` looks for each of them, and writes the table into CONTRIBUTING.md.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from unittest import mock

from emulator.channels.channel import ChannelUnavailableError, Delivery
from emulator.channels.memory import MemoryChannel
from emulator.channels.shard_calls import Fetched
from emulator.channels.shard_reader import ShardReader
from emulator.faults import fault
from emulator.journal import segments
from emulator.journal.log import Log
from emulator.kinesis import KinesisError
from emulator.kinesis.stream import Shard
from rdss_sandbox.files.rewriting import rewriting, sync_folders
from sandbox import repository
from sandbox.receiver.receiver import Receiver
from tests.simulation.whole_runs import RunOutcome, describe, plan_run, play, shrink

SEEDS: Final = 10_000
PAGE: Final = Path(__file__).parents[2] / "CONTRIBUTING.md"
BEGIN, END = "<!-- past bugs -->\n", "<!-- end of past bugs -->\n"


@dataclass(frozen=True, slots=True)
class PastBug:
    """A fault of the past: what users saw, the commit that mended or told of it, and how it is put back.

    A run without the parts that it ``needs`` cannot show it, and is passed over.
    """

    name: str
    commit: str
    put_back: Callable[[], AbstractContextManager[object]]
    needs: tuple[str, ...] = ()


def find(bug: PastBug, seeds: range) -> RunOutcome | None:
    """The first run of the seeds that breaks something with the bug put back; None where none does."""
    with bug.put_back():
        for seed in seeds:
            plan = plan_run(seed)
            if set(bug.needs) <= set(plan.parts) and (outcome := play(plan)).invariant:
                return outcome
    return None


def _read_once(self: MemoryChannel, shard: str, after: str | None, limit: int) -> Fetched:
    try:
        records = self._engine.read(self.name, shard, after, limit, self._scope)
        drained = not records and self._is_closed(shard)
    except KinesisError as error:
        raise ChannelUnavailableError(str(error)) from error
    found = [
        Delivery(each.data, each.partition_key or "", shard, each.sequence_number, each.arrived)
        for each in records
    ]
    return Fetched(found, drained=drained)


def _drop_found(self: ShardReader, shards: list[str], limit: int) -> list[Delivery]:
    done = self.calls.ask({name: self._shards[name].after for name in shards}, limit)
    for name, fetched in done.fetched.items():
        self._note(name, fetched)
    if not self._listed:
        with suppress(ChannelUnavailableError):
            self.discover()
    self._listed &= not done.failures
    if done.failures:
        raise done.failures[0]
    return [each for fetched in done.fetched.values() for each in fetched.deliveries]


def _ask_parents_alone(self: ShardReader, _in_hand: object) -> list[str]:
    return [
        name
        for name, shard in self._shards.items()
        if not shard.drained
        and all(parent not in self._shards or self._shards[parent].drained for parent in shard.parents)
    ]


@contextmanager
def _rewrite_unsure(
    _class: type[Log], path: Path, *, fsync: bool = False, synced: bool = True
) -> Iterator[Log]:
    with ExitStack() as undo:
        with rewriting(path, fsync=False) as draft:
            fresh = Log(draft)
            undo.callback(fresh.close)
            yield fresh
        undo.pop_all()
    fresh.path, fresh._fsync = path, fsync
    fresh._update_inventory()
    if synced or fsync:
        sync_folders(path, levels=1)


def _give_up_when_idle(self: Receiver, *, limit: int = 500, wait: float = 0.0) -> int:
    self._rejects.flush()
    deliveries = self._channel.read(limit=limit, wait=wait)
    for delivery in deliveries:
        self.receive(delivery)
    if not deliveries:
        self.give_up_late_sequences()
    return len(deliveries)


def _without(clause: str) -> Callable[[], AbstractContextManager[object]]:
    assert clause in repository._KNOWN
    return lambda: mock.patch.object(repository, "_KNOWN", repository._KNOWN.replace(clause, ""))


_arrival: Final = Shard.arrival


def _instead(owner: Any, name: str, function: Any) -> Callable[[], AbstractContextManager[object]]:
    return lambda: mock.patch.object(owner, name, function)


DROPPED: Final = _instead(ShardReader, "_read_each", _drop_found)

PAST_BUGS: Final = (
    PastBug(
        "a record that came as its shard was split was never read", "c4aef9ee",
        _instead(MemoryChannel, "_read_records", _read_once), ("resharder",),
    ),
    PastBug(
        "what a shard gave was lost when another was refused", "e8e4fe8a",
        DROPPED,
    ),
    PastBug(
        "after an empty generation of shards, a later record came before an earlier", "9c523f28",
        _instead(ShardReader, "_find_readable", _ask_parents_alone), ("resharder",),
    ),
    PastBug(
        "when the clock was set back from beyond retention, everything sent was lost", "a2117433",
        _instead(Shard, "arrival", lambda self, now, _horizon: _arrival(self, now, 0)), ("travel",),
    ),
    PastBug(
        "numbers began again when all of a shard was compressed and trimmed", "0b68cff5",
        _instead(segments, "touch", lambda _path: None), ("travel", "packing", "death"),
    ),
    PastBug(
        "a rewritten journal went on in the file that was replaced", "20478ce5",
        _instead(Log, "rewriting", classmethod(_rewrite_unsure)), ("failure",),
    ),
    PastBug(
        "a receiver rejected its own reject again", "d3d28668",
        _without(" OR digest = :digest"), ("receiver", "returner"),
    ),
    PastBug(
        "parts with one messageId vanished as duplicates", "88fbb4da",
        _without("AND NOT (coalesce(total, 1) > 1 AND sequence IS :sequence AND position IS NOT :position)"),
        ("receiver",),
    ),
    PastBug(
        "a message sent again in another sequence was dropped as a duplicate", "a2117433",
        _without("AND NOT (outcome = 'waiting' AND coalesce(total, 1) > 1 AND sequence IS NOT :sequence)"),
        ("receiver",),
    ),
    PastBug(
        "late sequences waited as long as other messages came", "6d746003",
        _instead(Receiver, "step", _give_up_when_idle), ("receiver",),
    ),
    PastBug(
        "what a fault held back stayed held when the fault was removed", "831264cf",
        _instead(fault, "latest", lambda moments: max((each.seconds for each in moments), default=0.0)),
        ("receiver", "hold"),
    ),
)  # fmt: skip


def render(found: dict[str, RunOutcome | None]) -> str:
    """The table of CONTRIBUTING.md: each bug, and the first seed that finds it."""
    rows = ["| put back | mended in | found at seed | by the invariant |", "|---|---|---|---|"]
    for bug in PAST_BUGS:
        outcome = found.get(bug.name)
        seed, invariant = (outcome.plan.seed, outcome.invariant) if outcome else ("not found", "")
        rows.append(f"| {bug.name} | `{bug.commit}` | {seed} | {invariant} |")
    return "\n".join(rows) + "\n"


def read_table(page: str) -> dict[str, tuple[str, str]]:
    """What the table in a page says of each bug: the seed and the invariant."""
    table = page[page.index(BEGIN) + len(BEGIN) : page.index(END)]
    rows = re.findall(r"^\| (.+) \| `\w+` \| (.+) \| (.*) \|$", table, re.MULTILINE)
    return {name: (seed, invariant) for name, seed, invariant in rows}


def _search(place: int) -> tuple[RunOutcome | None, str]:
    """Look for one bug; return the run that found it, and the line that tells of it, made small."""
    bug = PAST_BUGS[place]
    outcome = find(bug, range(1, SEEDS + 1))
    with bug.put_back():
        return outcome, f"not within {SEEDS} seeds" if outcome is None else describe(shrink(outcome))


def main() -> None:
    found: dict[str, RunOutcome | None] = {}
    with ProcessPoolExecutor(2) as processes:
        searches = processes.map(_search, range(len(PAST_BUGS)))
        for bug, (outcome, line) in zip(PAST_BUGS, searches, strict=True):
            found[bug.name] = outcome
            sys.stdout.write(f"{bug.name}: {line}\n")
            sys.stdout.flush()
    before, rest = PAGE.read_text().split(BEGIN)
    PAGE.write_text(before + BEGIN + render(found) + END + rest.split(END)[1])


if __name__ == "__main__":
    main()
