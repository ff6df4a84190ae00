"""The verdict of a demonstration: a line for each claim with its observed and expected value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from sandbox.demo.archive_contents import Archived
from sandbox.judging.verdict import Verdict, VerdictLine, verdict_of
from sandbox.scenarios.facts import Facts
from sandbox.scenarios.scenario import UNREACHABLE, Scenario

UNSENT: Final = "due.GENERR005"


@dataclass(frozen=True, slots=True)
class Leg:
    """What came of the messages of one scenario. ``reshards`` are the changes of shards, by action."""

    scenario: Scenario
    facts: Facts
    archived: Archived
    reshards: Counter[str]

    def __getitem__(self, fact: str) -> int:
        return int(self.facts.get(fact, 0))

    @property
    def copies(self) -> int:
        """The messages that were put again, copies by faults and repeats alike."""
        return self.archived.stored - self["acknowledged"]

    @property
    def failed(self) -> int:
        """The messages in the stream at which an application failed."""
        return sum(name != UNREACHABLE for name in self.scenario.failures)

    def codes(self, fact: str) -> dict[str, int]:
        """The numbers of ``rejected`` or ``due`` by code."""
        found = {
            name.partition(".")[2]: int(n) for name, n in self.facts.items() if name.startswith(f"{fact}.")
        }
        return dict(sorted(found.items()))

    def planned(self, fault_type: str) -> list[Mapping[str, Any]]:
        return [each.attributes | each.when for each in self.scenario.faults if each.type == fault_type]

    def summarise(self) -> dict[str, Any]:
        return {
            "sent": self["sent"] - self[UNSENT],
            "acknowledged": self["acknowledged"],
            "delivered": self["reached"],
            "processed_once": self["processed"] - self["twice"],
            "processed_twice": self["twice"],
            "lost": self["lost"],
            "duplicates_dropped": self["dropped"],
            "sequences_joined": self["joined"],
            "sequences_expected": self["sequences"],
            "rejects": self.codes("rejected"),
            "rejects_expected": self.codes("due"),
            "audit_missing": self.archived.missing,
        }


@dataclass(frozen=True, slots=True)
class Result:
    """The content of ``summary.json`` and of the table."""

    seed: int
    lines: tuple[VerdictLine, ...]
    summary: dict[str, Any]

    @property
    def verdict(self) -> Verdict:
        return verdict_of(self.lines)


def judge(
    seed: int, stream: Leg, tables: Mapping[str, int] | Exception | None, queue: Leg | None = None
) -> Result:
    """Compare what was observed with what was expected.

    ``tables`` are the pipeline's, None when it did not run. ``queue`` has what went through AMQP, None when
    nothing did.
    """
    lines = [*_stream_lines(stream), *(_queue_lines(queue) if queue else ())]
    if tables is not None:
        lines += _pipeline_lines(stream, tables)
    summary = {
        "seed": seed,
        **stream.summarise(),
        "amqp": queue.summarise() if queue else {},
        "pipeline": dict(tables) if isinstance(tables, Mapping) else {},
    }
    return Result(seed, tuple(lines), summary)


def _equal(claim: str, observed: int, expected: int) -> VerdictLine:
    return VerdictLine(claim, f"{observed:,}", f"{expected:,}", observed == expected)


def _sent(leg: Leg, through: str = "", indent: str = "") -> Iterator[VerdictLine]:
    yield _equal(f"{through}sent", leg["sent"] - leg[UNSENT], leg["parts"] - leg[UNSENT])
    yield _equal(f"{indent}acknowledged", leg["acknowledged"], leg["sent"] - leg[UNSENT])
    if not through:
        yield _equal("delivered", leg["reached"], leg["acknowledged"])
    yield _equal(f"{indent}lost", leg["lost"], 0)


def _processed(leg: Leg, indent: str = "") -> Iterator[VerdictLine]:
    once = leg["processed"] - leg["twice"]
    exact = once == leg["valid"] and not leg["misjudged"]
    yield VerdictLine(f"{indent}processed exactly once", f"{once:,}", f"{leg['valid']:,}", exact)
    if not indent:
        yield _equal("processed more than once", leg["twice"], 0)
    same = leg["processed"] - leg["altered"]
    yield _equal(f"{indent}bodies as sent, byte for byte", same, leg["valid"])
    if not indent:
        yield _equal("sequences joined byte for byte", leg["joined"], leg["sequences"])
    yield _equal(f"{indent}parts waiting for others", leg["waiting"], leg["incomplete"])


def _struck(leg: Leg, indent: str = "") -> Iterator[VerdictLine]:
    again = leg.copies - leg["repeats"]
    yield _equal(f"{indent}duplicates dropped", leg["dropped"], leg["copies"] + leg["repeats"])
    yield _equal("  put again by their producer", again, leg["copies.retries"])
    if not indent:
        redelivered = leg["dropped"] - leg.copies
        yield _equal("  delivered again by the broker", redelivered, leg["copies.redeliveries"])
    late = leg["injected.latency"]
    yield VerdictLine(f"{indent}answers delayed", f"{late:,}", "some", late > 0 or None)


def _stream_lines(leg: Leg) -> Iterator[VerdictLine]:
    yield from _sent(leg)
    yield from _processed(leg)
    yield _equal("own messages dropped by their sender", leg["echoes"], leg["own"])
    rejected, due = leg.codes("rejected"), leg.codes("due")
    for code in sorted(rejected.keys() | due.keys()):
        yield _equal(f"rejected {code}", rejected.get(code, 0), due.get(code, 0))
    yield from _struck(leg)
    planned = Counter(str(each["action"]) for each in leg.planned("reshard"))
    done = leg.reshards == planned or None
    yield VerdictLine("reshards under load", _counted(leg.reshards), _counted(planned), done)
    grown, oversize = leg["injected.grown"], sum(int(each["first"]) for each in leg.planned("oversize"))
    yield VerdictLine("messages grown oversize", f"{grown:,}", f"{oversize:,}", grown == oversize or None)
    kept = leg.archived.kept
    yield VerdictLine(
        "rejects in their buckets", f"{kept.total():,}", f"{leg['rejected']:,}", kept == Counter(rejected)
    )
    yield _audited("audit log", leg)


def _queue_lines(leg: Leg) -> Iterator[VerdictLine]:
    """The claims about the messages that went through AMQP, a line for each group of the stream's claims."""
    yield from _sent(leg, "through AMQP: ", "  ")
    yield from _processed(leg, "  ")
    rejected, due = Counter(leg.codes("rejected")), Counter(leg.codes("due"))
    kept = rejected == due == leg.archived.kept
    yield VerdictLine("  rejected, and in their buckets", f"{rejected.total():,}", f"{due.total():,}", kept)
    yield from _struck(leg, "  ")
    yield _audited("  audit log", leg)


def _audited(claim: str, leg: Leg) -> VerdictLine:
    missing = leg.archived.missing
    return VerdictLine(claim, f"{missing:,} missing" if missing else "complete", "complete", not missing)


def _pipeline_lines(leg: Leg, tables: Mapping[str, int] | Exception) -> Iterator[VerdictLine]:
    if isinstance(tables, Exception):
        why = f"{type(tables).__name__}: {tables}".splitlines()[0]
        yield VerdictLine("tables written by the pipeline", why[:200], "written", holds=False)
        return
    provoked = len(leg.scenario.failures) - leg["own"]
    expected = {
        # To the pipeline, which has no application that could fail, the messages of the failures are valid.
        "messages": leg["valid"] - leg["sequences"] + leg.failed,
        "sequences": leg["sequences"],
        "duplicates": leg.copies,
        "rejects": leg["rejected"] - provoked,
        "queued": leg["rejected"],
    }
    for name, rows in expected.items():
        yield _equal(f"rows in the table {name}", tables.get(name, 0), rows)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in sorted(counts)) or "none"
