"""The verdict of a demonstration: a line for each claim with its observed and expected value."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from sandbox.demo.expectation import Expectation
from sandbox.demo.observation import Observation
from sandbox.demo.plan import Plan
from sandbox.judging.verdict import Verdict, VerdictLine, verdict_of


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
    plan: Plan,
    seen: Observation,
    wanted: Expectation,
    tables: Mapping[str, int] | Exception | None,
    amqp: tuple[Observation, Expectation] | None = None,
) -> Result:
    """Compare observation and expectation; ``tables`` are the pipeline's, None when it did not run.

    ``amqp`` is what was observed and expected of the messages that went through AMQP, None when none did.
    """
    lines = [
        *_delivery(seen, wanted),
        *_outcomes(seen, wanted),
        *_faults(plan, seen, wanted),
        *_archives(seen),
    ]
    if amqp is not None:
        lines += _amqp(*amqp)
    if tables is not None:
        lines += _pipeline(seen, wanted, tables)
    summary = {
        "seed": plan.seed,
        **_summarise(seen, wanted),
        "amqp": _summarise(*amqp) if amqp is not None else {},
        "pipeline": dict(tables) if isinstance(tables, Mapping) else {},
    }
    return Result(plan.seed, tuple(lines), summary)


def _summarise(seen: Observation, wanted: Expectation) -> dict[str, Any]:
    once = sum(arrival.times == 1 for arrival in seen.arrivals.values())
    return {
        "sent": seen.sent,
        "acknowledged": seen.acknowledged,
        "delivered": seen.delivered,
        "processed_once": once,
        "processed_twice": len(seen.arrivals) - once,
        "lost": seen.lost,
        "duplicates_dropped": seen.duplicates_dropped,
        "sequences_joined": len(_joined(seen, wanted)),
        "sequences_expected": len(wanted.joined),
        "rejects": _by_code(seen.rejects),
        "rejects_expected": _by_code(wanted.rejects),
        "audit_missing": seen.audit_missing,
    }


def _equal(claim: str, observed: int, expected: int) -> VerdictLine:
    return VerdictLine(claim, f"{observed:,}", f"{expected:,}", observed == expected)


def _delivery(seen: Observation, wanted: Expectation) -> list[VerdictLine]:
    return [
        _equal("sent", seen.sent, wanted.messages),
        _equal("acknowledged", seen.acknowledged, seen.sent),
        _equal("delivered", seen.delivered, seen.acknowledged),
        _equal("lost", seen.lost, 0),
    ]


def _outcomes(seen: Observation, wanted: Expectation) -> list[VerdictLine]:
    wanted_rejects = Counter({str(code): count for code, count in wanted.rejects.items()})
    once = {message_id for message_id, arrival in seen.arrivals.items() if arrival.times == 1}
    twice = len(seen.arrivals) - len(once)
    same = sum(
        seen.arrivals[message_id].body == body
        for message_id, body in wanted.processed.items()
        if message_id in once
    )
    return [
        VerdictLine(
            "processed exactly once",
            f"{len(once):,}",
            f"{len(wanted.processed):,}",
            once == wanted.processed.keys(),
        ),
        _equal("processed more than once", twice, 0),
        _equal("bodies as sent, byte for byte", same, len(wanted.processed)),
        _equal("sequences joined byte for byte", len(_joined(seen, wanted)), len(wanted.joined)),
        _equal("parts waiting for others", seen.waiting, wanted.waiting),
        _equal("own messages dropped by their sender", seen.echoes, wanted.echoes),
        *(
            _equal(f"rejected {code}", seen.rejects[code], wanted_rejects[code])
            for code in sorted(seen.rejects.keys() | wanted_rejects.keys())
        ),
    ]


def _joined(seen: Observation, wanted: Expectation) -> set[str]:
    """The messageIds of sequences that the application received joined, with the body that was sent."""
    return {
        message_id
        for message_id in wanted.joined
        if (arrival := seen.arrivals.get(message_id)) and arrival.parts > 1
        if arrival.body == wanted.processed[message_id]
    }


def _faults(plan: Plan, seen: Observation, wanted: Expectation) -> list[VerdictLine]:
    did = seen.injections
    retries = seen.stored - seen.delivered
    redeliveries = seen.duplicates_dropped - retries - wanted.repeats
    total = did.retries + did.redeliveries + wanted.repeats
    planned = Counter(plan.reshards)
    return [
        _equal("duplicates dropped", seen.duplicates_dropped, total),
        _equal("  put again by their producer", retries, did.retries),
        _equal("  delivered again by the broker", redeliveries, did.redeliveries),
        VerdictLine("answers delayed", f"{did.delays:,}", "some", did.delays > 0 or None),
        VerdictLine(
            "reshards under load", _counted(did.reshards), _counted(planned), did.reshards == planned or None
        ),
        VerdictLine(
            "messages grown oversize",
            f"{len(did.grown):,}",
            f"{plan.oversize:,}",
            len(did.grown) == plan.oversize or None,
        ),
    ]


def _archives(seen: Observation) -> list[VerdictLine]:
    return [
        VerdictLine(
            "rejects in their buckets",
            f"{seen.kept.total():,}",
            f"{seen.rejects.total():,}",
            seen.kept == seen.rejects,
        ),
        _audited("audit log", seen),
    ]


def _amqp(seen: Observation, wanted: Expectation) -> list[VerdictLine]:
    """The claims about the messages that went through AMQP, a line for each group of the stream's claims."""
    once = {message_id for message_id, arrival in seen.arrivals.items() if arrival.times == 1}
    same = sum(
        message_id in once and seen.arrivals[message_id].body == body
        for message_id, body in wanted.processed.items()
    )
    expected = {str(code): count for code, count in wanted.rejects.items()}
    copies = seen.injections.retries + seen.injections.redeliveries + wanted.repeats
    return [
        _equal("through AMQP: sent", seen.sent, wanted.messages),
        _equal("  acknowledged", seen.acknowledged, seen.sent),
        _equal("  lost", seen.lost, 0),
        VerdictLine(
            "  processed exactly once",
            f"{len(once):,}",
            f"{len(wanted.processed):,}",
            once == wanted.processed.keys() == seen.arrivals.keys(),
        ),
        _equal("  bodies as sent, byte for byte", same, len(wanted.processed)),
        _equal("  parts waiting for others", seen.waiting, wanted.waiting),
        VerdictLine(
            "  rejected, and in their buckets",
            f"{seen.rejects.total():,}",
            f"{wanted.rejects.total():,}",
            seen.rejects == seen.kept == expected,
        ),
        _equal("  duplicates dropped", seen.duplicates_dropped, copies),
        _equal("  put again by their producer", seen.stored - seen.sent, seen.injections.retries),
        VerdictLine(
            "  answers delayed", f"{seen.injections.delays:,}", "some", seen.injections.delays > 0 or None
        ),
        _audited("  audit log", seen),
    ]


def _audited(claim: str, seen: Observation) -> VerdictLine:
    missing = seen.audit_missing
    return VerdictLine(claim, f"{missing:,} missing" if missing else "complete", "complete", not missing)


def _pipeline(
    seen: Observation, wanted: Expectation, tables: Mapping[str, int] | Exception
) -> Iterator[VerdictLine]:
    if isinstance(tables, Exception):
        why = f"{type(tables).__name__}: {tables}".splitlines()[0]
        yield VerdictLine("tables written by the pipeline", why[:200], "written", holds=False)
        return
    expected = {
        "messages": len(wanted.processed) - len(wanted.joined),
        "sequences": len(wanted.joined),
        "duplicates": seen.stored - seen.delivered + wanted.repeats,
        "rejects": seen.rejects.total() - wanted.arranged,
        "queued": seen.rejects.total(),
    }
    for name, rows in expected.items():
        yield _equal(f"rows in the table {name}", tables.get(name, 0), rows)


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{counts[name]:,} {name}" for name in sorted(counts)) or "none"


def _by_code(counts: Counter[Any]) -> dict[str, int]:
    return {str(code): counts[code] for code in sorted(counts)}
