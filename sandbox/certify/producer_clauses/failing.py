"""The clauses on what fails: it is put again, and that alone."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from emulator.diagnosis.rules import refusals
from rdss_sandbox.shapes.trace import Put
from sandbox.certify.clause import NEVER_LANDED, NEVER_USED, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level

_clause = partial(Clause, role=Role.PRODUCER, group=Group.DELIVERY, level=Level.SILVER)

_MANY = 0.9
_LEAST = 2
_ERRORS = frozenset({"InternalFailure", "disconnect"})
THROTTLED = "ProvisionedThroughputExceededException"


def judge_failed_puts(history: History, failed: Callable[[str], bool]) -> Judgement:
    """Judge how a producer takes calls and entries that fail with a code for which ``failed`` holds."""
    struck = {
        entry.message_id: put.at
        for put in history.puts()
        for entry in put.entries
        if failed(put.error or entry.error)
    }
    in_time, wanted = history.stored_in_time(), {sent.message_id for sent in history.sent}
    findings = [
        Finding(
            f"{message_id} was refused at {at:.2f} s and was not put again before the producer's end",
            history.level_at(at),
            {"messageId": message_id, "at": at},
        )
        for message_id, at in struck.items()
        if message_id in wanted and message_id not in in_time
    ]
    return judged(len(struck), findings)


ERRORS = _clause(
    id="survives-errors",
    demand="A call that fails with a server's error, or whose connection is cut, is made again.",
    source="Amazon Kinesis API Reference, Common Errors: InternalFailure",
    exercise="Some calls are answered with InternalFailure, and some connections are cut.",
    needed=2,
    judge=lambda history: judge_failed_puts(history, _ERRORS.__contains__),
)

THROTTLING = _clause(
    id="survives-throttling",
    demand="A message that is refused for lack of throughput is put again, and the producer lives.",
    source="Amazon Kinesis API Reference, PutRecord: ProvisionedThroughputExceededException",
    exercise="Some messages are refused three times, and pass then.",
    needed=2,
    judge=lambda history: judge_failed_puts(history, THROTTLED.__eq__),
)


def judge_entries(history: History) -> Judgement:
    """After a call that failed in part, the accepted entries are not put again by the same start."""
    puts = history.puts()
    findings, exposure = [], 0
    singles = bool(puts) and not any(put.batch for put in puts)
    for at, put in enumerate(puts):
        failed = {each.message_id for each in put.entries if each.error}
        if put.error or not failed or not put.batch:
            continue
        exposure += len(failed)
        accepted = {each.message_id for each in put.entries if not each.error}
        last = history.end_of(put.at).life
        later = [each for each in puts[at + 1 :] if not each.error and each.life <= last]
        delivered = {entry.message_id for each in later for entry in each.entries if not entry.error}
        findings += [
            Finding(
                f"{message_id} failed in a PutRecords call at {put.at:.2f} s and was not put again before "
                "the producer's end",
                history.level_at(put.at),
                {"messageId": message_id, "at": put.at},
            )
            for message_id in sorted(failed - delivered, key=str)
        ]
        again = accepted & _next_of(puts[at + 1 :], put)
        if len(accepted) >= _LEAST and len(again) >= _MANY * len(accepted):
            findings.append(
                Finding(
                    f"{len(again)} entries accepted at {put.at:.2f} s were put again with the failed",
                    history.level_at(put.at),
                    {"again": len(again), "failed": len(failed)},
                )
            )
    return judged(exposure, findings, NEVER_USED if singles else NEVER_LANDED)


def _next_of(puts: list[Put], before: Put) -> set[str | None]:
    """The entries of the next call of the same start."""
    following = next((each for each in puts if each.life == before.life), None)
    return {each.message_id for each in following.entries} if following else set()


ENTRIES = _clause(
    id="retries-failed-entries",
    demand="Of a PutRecords call that fails in part the failed entries are put again, and only those.",
    source="Amazon Kinesis API Reference, PutRecords: FailedRecordCount",
    exercise="Some entries of PutRecords calls are refused. A producer of single records is not tried.",
    needed=2,
    judge=judge_entries,
    rules=(refusals.DROPPED,),
)
