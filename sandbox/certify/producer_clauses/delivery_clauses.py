"""The clauses on what reaches the stream: all of it, over a kill too."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from rdss_sandbox.shapes.certificate import Finding
from sandbox.certify.clause import ALL_CHANNELS, Clause, Group, Judgement, Role, judged, report
from sandbox.certify.history import History, Level

_clause = partial(Clause, role=Role.PRODUCER, group=Group.DELIVERY, channels=ALL_CHANNELS)


@partial(
    _clause,
    id="nothing-lost",
    level=Level.BRONZE,
    demand="Every message of the file is in the stream at the end, and every message reported as sent.",
    source="RDSS Message API 4.0.0, Message Gateway: at-least-once delivery",
    exercise="The producer gets a file of messages, and the same file at each of its starts.",
    advice="Keep each message until the answer says that it is taken, and tell it after that.",
    needed=10,
)
def nothing_lost(history: History) -> Judgement:
    in_time, times = history.stored_in_time(), history.times_told()
    stored = {each.message_id for each in history.stored}
    findings = []
    for sent in history.sent:
        if sent.message_id in in_time:
            continue
        sentence = f"{sent.message_id} is not in the stream"
        if sent.message_id in stored:
            sentence = f"{sent.message_id} came to the stream only after the producer was started again"
        elif sent.message_id in times:
            sentence += ", although it was reported as sent"
        facts = {"messageId": sent.message_id, "told": sent.message_id in times}
        findings.append(Finding(sentence, sent.level, facts))
    return judged(len(history.sent), [*findings, *_told_too_early(history)])


def _told_too_early(history: History) -> Iterator[Finding]:
    """A finding for each message of a stream that was reported as sent while its call was not answered."""
    if any(shard.id == history.stream for shard in history.shards):
        return  # of a queue another clause judges it
    answered: dict[tuple[int, str | None], float] = {}
    for put in history.puts():
        for entry in put.entries:
            if not (put.error or entry.error) and put.confirmed:
                answered.setdefault((put.life, entry.message_id), put.at)
    for statement in history.told:
        at = answered.get((statement.life, statement.message_id))
        if at is not None and statement.at < at:
            sentence = (
                f"{statement.message_id} was reported as sent at {statement.at:.3f} s, and its call was "
                "answered "
                f"at {at:.3f} s: a crash between loses it"
            )
            yield report(history, statement.at, sentence, messageId=statement.message_id)


@partial(
    _clause,
    id="resumes-after-a-kill",
    level=Level.GOLD,
    demand="After SIGKILL the producer puts what is left, and nothing that it has reported as sent.",
    source="RDSS Message API 4.0.0, Message Gateway: local data repository",
    exercise="The producer is killed before a call, while one is under way, and after it has told.",
    advice="Write down what was taken where a SIGKILL leaves it, and begin behind it at the next start.",
    needed=2,
)
def resumes_after_a_kill(history: History) -> Judgement:
    """What was reported as sent before a kill is not put again after it, and what was left is put."""
    stored = history.stored_in_time()
    findings, exposure = [], 0
    for life in history.kills():
        end = life.ended or 0.0
        after = [put for put in history.puts() if put.life > life.number]
        if not any(each.number > life.number for each in history.lives):
            continue
        exposure += 1
        ids = {each.message_id for each in history.told if each.life <= life.number}
        again = {entry.message_id for put in after for entry in put.entries} & ids
        if again:
            sentence = (
                f"{len(again)} messages reported before the kill at {end:.2f} s were put again after it"
            )
            findings.append(report(history, end, sentence, messageIds=sorted(map(str, again))[:5]))
        lost = [
            sent.message_id
            for sent in history.sent
            if sent.message_id not in stored and history.end_of(sent.at).at >= end
        ]
        if lost:
            sentence = f"{len(lost)} messages were not put after the kill at {end:.2f} s"
            findings.append(report(history, end, sentence, messageIds=lost[:5]))
    return judged(exposure, findings)
