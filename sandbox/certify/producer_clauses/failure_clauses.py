"""The clauses on what fails: it is put again, and that alone."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from itertools import groupby

from emulator.diagnosis.refused_records import RefusedRecords
from emulator.diagnosis.rules import refusal_rules
from rdss_sandbox.shapes.recorded_exchange import RefusedAttempt
from rdss_sandbox.shapes.trace import Put
from sandbox.certify.clause import NEVER_LANDED, NEVER_USED, Clause, Group, Judgement, Role, judged, report
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
    in_time, ids = history.stored_in_time(), {sent.message_id for sent in history.sent}
    findings = [
        report(
            history,
            at,
            f"{message_id} was refused at {at:.2f} s and was not put again before the producer's end",
            messageId=message_id,
        )
        for message_id, at in struck.items()
        if message_id in ids and message_id not in in_time
    ]
    return judged(len(struck), findings)


@partial(
    _clause,
    id="survives-errors",
    demand="A call that fails with a server's error, or whose connection is cut, is made again.",
    source="Amazon Kinesis API Reference, Common Errors: InternalFailure",
    exercise="Some calls are answered with InternalFailure, up to five times, and some connections are cut.",
    advice="Put the message again after a server error or a cut connection: the consumer knows it by its id.",
    needed=2,
)
def survives_errors(history: History) -> Judgement:
    return judge_failed_puts(history, _ERRORS.__contains__)


@partial(
    _clause,
    id="survives-throttling",
    demand="A message that is refused for lack of throughput is put again, and the producer lives.",
    source="Amazon Kinesis API Reference, PutRecord: ProvisionedThroughputExceededException",
    exercise="Some messages are refused three to five times, as often as SDKs try, and pass then.",
    advice="Catch the refusal, wait, and put the message again, for longer than the SDK does.",
    needed=2,
)
def survives_throttling(history: History) -> Judgement:
    return judge_failed_puts(history, THROTTLED.__eq__)


def list_refusals(puts: Iterable[Put], refused: Callable[[str], bool]) -> list[RefusedAttempt]:
    """What was put and refused with a code for which ``refused`` holds, measured as the diagnosis does."""
    known = RefusedRecords()
    for put in puts:
        for entry in put.entries:
            name, code = entry.message_id, put.error or entry.error
            if refused(code):
                attempt = RefusedAttempt("", "", "", code, put.at, batch=put.batch, message_id=name)
                known.refuse(name, attempt, put.asked, put.at)
            else:
                known.accept(name, put.asked)
    return known.snapshot()


@partial(
    _clause,
    id="retries-failed-entries",
    demand="Of a PutRecords call that fails in part the failed entries are put again, and only those.",
    source="Amazon Kinesis API Reference, PutRecords: FailedRecordCount",
    exercise="Some entries of PutRecords calls are refused. A producer of single records is not tried.",
    needed=2,
    rules=(refusal_rules.DROPPED,),
)
def retries_failed_entries(history: History) -> Judgement:
    """After a call that failed in part, the accepted entries are not put again by the same start."""
    puts = history.puts()
    parts = groupby((put for put in puts if not put.error), lambda put: history.end_of(put.at))
    failed = [each for _, part in parts for each in list_refusals(part, bool) if each.batch]
    findings = [
        report(
            history,
            each.at,
            f"{each.message_id} failed in a PutRecords call at {each.at:.2f} s and was not put again before "
            "the producer's end",
            messageId=each.message_id,
        )
        for each in refusal_rules.find_dropped(failed)
    ]
    singles = bool(puts) and not any(put.batch for put in puts)
    for at, put in enumerate(puts):
        lost = sum(bool(each.error) for each in put.entries)
        accepted = {each.message_id for each in put.entries if not (each.error or put.error or not lost)}
        again = accepted & _next_of(puts[at + 1 :], put)
        if len(accepted) >= _LEAST and len(again) >= _MANY * len(accepted):
            sentence = f"{len(again)} entries accepted at {put.at:.2f} s were put again with the failed"
            findings.append(report(history, put.at, sentence, failed=lost))
    return judged(len(failed), findings, NEVER_USED if singles else NEVER_LANDED)


def _next_of(puts: list[Put], before: Put) -> set[str | None]:
    """The entries of the next call of the same start."""
    following = next((each for each in puts if each.life == before.life), None)
    return {each.message_id for each in following.entries} if following else set()
