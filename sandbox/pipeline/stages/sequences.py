"""Pipeline stage: join the parts of sequences, in any order and also when repeated."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sandbox.pipeline.stages.open_sequences import OpenSequences
from sandbox.pipeline.stages.parsing import RecordJudge
from sandbox.pipeline.storage.files import BatchAttempt, write_routed
from sandbox.pipeline.storage.schema import COLUMNS, arrow_schema
from sandbox.pipeline.storage.table_log import File
from sandbox.pipeline.storage.table_store import read_files
from schemas.bound import CONTRACT
from schemas.contract import Contract, Part, Sequences, Verdict

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

KEY = ["stream", "sequence"]
_SEQUENCES = COLUMNS["sequences"].split(", ")
_REJECTS = [column for column in COLUMNS["rejects"].split(", ") if column not in _SEQUENCES]
OUTCOME = ", ".join([*_SEQUENCES, *_REJECTS, "table STRING"])
"""Columns of ``join_parts``: those of ``sequences`` and ``rejects``, and the name of one of these tables."""


def write_finished(
    spark: SparkSession,
    new: list[File],
    past: OpenSequences,
    attempt: BatchAttempt,
    *,
    now: datetime,
    contract: Contract,
) -> tuple[list[File], float | None]:
    """Join complete sequences and give up those that have waited for their next part too long.

    ``new`` are files of ``parts``. Returns the files written, and the first arrival of the oldest sequence
    that stays open. Only files that have parts of the sequences that are decided are read.
    """
    tables, decision = past.tables, past.decide(new, attempt.batch, now)
    if not decision.acting:
        return [], decision.oldest
    batches = {batch for each in decision.acting.values() for batch in each.batches}
    before = [
        file
        for file in tables.files("parts")
        if any(file.batches[0] <= batch <= file.batches[1] for batch in batches)
    ]
    parts = read_files(spark, tables.place, COLUMNS["parts"], [file.path for file in (*before, *new)])
    rows = [(*key, each.status) for key, each in decision.acting.items()]
    acting = spark.createDataFrame(rows, "stream STRING, sequence STRING, status STRING")
    whole = parts.join(acting.hint("broadcast"), KEY)
    return write_routed(join_parts(whole, past.limit, contract), attempt), decision.oldest


def join_parts(parts: DataFrame, limit: float, contract: Contract = CONTRACT) -> DataFrame:
    """Join parts with their data and ``status`` to rows of ``OUTCOME``.

    ``limit`` is the time in seconds after which they are overdue. Every sequence gives a row for
    ``sequences``. A joined message that is not valid gives one reject with its bytes. Parts that are overdue,
    or do not belong to those that came before them, give one reject each, with their own bytes.
    """
    return parts.groupBy(*KEY).applyInArrow(lambda table: _assemble(table, limit, contract), OUTCOME)


def _assemble(table: pa.Table, limit: float, contract: Contract) -> pa.Table:
    import pyarrow as pa

    rows = decide_outcome(table.to_pylist(), limit, contract)
    return pa.Table.from_pylist(rows, schema=arrow_schema(OUTCOME))


def decide_outcome(
    parts: list[dict[str, Any]], limit: float, contract: Contract = CONTRACT
) -> list[dict[str, Any]]:
    """Decide one sequence: return its row for ``sequences`` and its rejects.

    Parts are judged in the order of their arrival, as a receiver does it.
    """
    sequences = contract.sequences
    assert sequences is not None, "a contract without sequences has no parts"
    taken, unlike = _take_parts(parts, sequences, contract.body)
    first, last = min(p["arrived"] for p in taken), max(p["arrived"] for p in taken)
    head = {
        "stream": taken[0]["stream"], "sequence": taken[0]["sequence"], "status": taken[0]["status"],
        "parts": len(taken), "total": taken[0]["total"], "first_arrived": first,
        "last_arrived": last, "arrived": last, "table": "sequences",
        **{each.column: taken[0].get(each.column) for each in contract.fields if each.summed},
    }  # fmt: skip
    if head["status"] == "overdue":
        late = sequences.judge_overdue(head["sequence"], head["parts"], head["total"], limit)
        return [*_refused(head, taken, late), *unlike]
    raw, verdict = sequences.judge_parts((part["data"] for part in taken), now=last.timestamp())
    if raw is None:
        return [*_refused(head | {"status": "refused"}, taken, verdict), *unlike]
    described = RecordJudge(contract).describe(raw, verdict)
    head = described | head | {"size": len(raw), "body_sha256": sha256(contract.body(raw)).hexdigest()}
    if verdict.valid:
        return [head, *unlike]
    head |= {"status": "refused", "code": str(verdict.code), "description": verdict.why}
    reject = {"table": "rejects", "data": raw, "identity": f"reject {head['message_id']}"}
    return [head, taken[0] | head | reject, *unlike]


def _take_parts(
    parts: Iterable[dict[str, Any]], sequences: Sequences, body: Callable[[bytes], bytes]
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The parts of a sequence by position, and a reject for each that does not fit those before it.

    What comes after the last part that was missing is no part any more.
    """
    taken: dict[int, dict[str, Any]] = {}
    unlike, total = list[dict[str, Any]](), None
    for part in sorted(parts, key=lambda p: (p["arrived"], p["shard"], int(p["sequence_number"]))):
        place, same = Part(part["sequence"], part["position"], part["total"]), taken.get(part["position"])
        if same is not None and body(same["data"]) == body(part["data"]):
            continue
        verdict = sequences.judge_part(place, total=total, taken=same is not None)
        if not verdict.valid:
            unlike.append(_reject(part, verdict))
            continue
        taken[place.position], total = part, place.total
        if len(taken) == total:
            break
    return [taken[position] for position in sorted(taken)], unlike


def _refused(head: dict[str, Any], parts: list[dict[str, Any]], verdict: Verdict) -> list[dict[str, Any]]:
    reason = {"code": str(verdict.code), "description": verdict.why}
    return [head | reason, *(_reject(part, verdict) for part in parts)]


def _reject(part: dict[str, Any], verdict: Verdict) -> dict[str, Any]:
    identity = part["identity"].replace("message", "reject", 1)
    reason = {"code": str(verdict.code), "description": verdict.why}
    return part | reason | {"table": "rejects", "identity": identity}
