"""Entries that failed are put again, and those alone."""

from __future__ import annotations

from emulator.diagnosis.rules import dropped_entries
from sandbox.certify.clause import Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.exchange import Put
from sandbox.certify.history import History, Level

_MANY = 0.9
_LEAST = 2


def judge(history: History) -> Judgement:
    """After a call that failed in part, the accepted entries are not put again by the same start."""
    puts = history.puts()
    findings, exposure = [], 0
    for at, put in enumerate(puts):
        failed = {each.message_id for each in put.entries if each.error}
        if put.error or not failed or not put.batch:
            continue
        exposure += len(failed)
        accepted = {each.message_id for each in put.entries if not each.error}
        later = [each for each in puts[at + 1 :] if not each.error]
        delivered = {entry.message_id for each in later for entry in each.entries if not entry.error}
        findings += [
            Finding(
                f"{message_id} failed in a PutRecords call at {put.at:.2f} s and was never put again",
                history.level_at(put.at),
                {"messageId": message_id},
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
    return judged(exposure, findings, "feature-never-used")


def _next_of(puts: list[Put], before: Put) -> set[str | None]:
    """The entries of the next call of the same start."""
    following = next((each for each in puts if each.life == before.life), None)
    return {each.message_id for each in following.entries} if following else set()


CLAUSE = Clause(
    id="retries-failed-entries",
    role=Role.PRODUCER,
    group=Group.DELIVERY,
    level=Level.SILVER,
    demand="Of a PutRecords call that fails in part the failed entries are put again, and only those.",
    source="Amazon Kinesis API Reference, PutRecords: FailedRecordCount",
    exercise="Some entries of PutRecords calls are refused. A producer of single records is not tried.",
    needed=2,
    judge=judge,
    rules=(dropped_entries.RULE,),
)
