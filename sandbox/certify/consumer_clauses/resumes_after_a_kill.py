"""The consumer goes on where it was killed."""

from __future__ import annotations

from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.consumer_clauses.repeats import definite_repeats
from sandbox.certify.history import History, Level, Life


def judge(history: History) -> Judgement:
    """After a SIGKILL nothing is lost that was there, and no more than the message in hand is told again."""
    findings, exposure = [], 0
    repeats = definite_repeats(history)
    for life in history.kills():
        end = life.ended or 0.0
        following = [each for each in history.lives if each.number > life.number]
        if not following:
            continue
        exposure += 1
        again = {
            told.message_id
            for told, _, last, _ in repeats
            if last.life == life.number and told.life != last.life
        }
        lost = _skipped(history, life, following[0].began)
        if again:
            findings.append(
                Finding(
                    f"after the kill at {end:.2f} s {len(again)} messages were told again, besides the one "
                    "in hand",
                    life.level,
                    {"life": life.number, "again": sorted(again)[:5]},
                )
            )
        if lost:
            findings.append(
                Finding(
                    f"{len(lost)} messages were skipped over the kill at {end:.2f} s",
                    life.level,
                    {"life": life.number, "messageIds": lost[:5]},
                )
            )
    return judged(exposure, findings)


def _skipped(history: History, life: Life, began: float) -> list[str]:
    """The messages of the kill's level that were never told, in shards that a later life went on to read.

    What was sent after the next life ``began`` was not skipped over the kill.
    """
    read_later = {read.shard for read in history.reads() if read.life > life.number and not read.error}
    there = {name for shard in history.shards if shard.id in read_later for _, name in shard.records}
    told = history.times_told()
    return [
        sent.message_id
        for sent in history.sent
        if sent.level is life.level
        and sent.at <= began
        and sent.message_id in there
        and sent.message_id not in told
    ]


CLAUSE = Clause(
    id="resumes-after-a-kill",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.GOLD,
    demand="After SIGKILL it goes on from its checkpoint: nothing is lost, one message told again at most.",
    source="Amazon Kinesis Data Streams Developer Guide, Handle duplicate records",
    exercise="The consumer is killed with records in hand, after telling, and while idle.",
    needed=3,
    judge=judge,
    channels=ALL_CHANNELS,
)
