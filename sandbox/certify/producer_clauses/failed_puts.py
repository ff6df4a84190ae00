"""What the clauses on failed calls share: what failed is put again."""

from __future__ import annotations

from collections.abc import Callable

from sandbox.certify.clause import Finding, Judgement, judged
from sandbox.certify.history import History


def judge_failed_puts(history: History, failed: Callable[[str], bool]) -> Judgement:
    """Judge how a producer takes calls and entries that fail with a code for which ``failed`` holds."""
    struck = {
        entry.message_id: put.at
        for put in history.puts()
        for entry in put.entries
        if failed(put.error or entry.error)
    }
    stored = {each.message_id for each in history.stored}
    findings = [
        Finding(
            f"{message_id} was refused at {at:.2f} s and is not in the stream",
            history.level_at(at),
            {"messageId": message_id},
        )
        for message_id, at in struck.items()
        if message_id not in stored
    ]
    return judged(len(struck), findings)
