"""Every message is processed."""

from __future__ import annotations

from emulator.diagnosis.rules import skipped_records
from sandbox.certify.clause import ALL_CHANNELS, Clause, Finding, Group, Judgement, Role, judged
from sandbox.certify.history import History, Level


def judge(history: History) -> Judgement:
    told = history.times_told()
    places = {
        message_id: (shard.id, number) for shard in history.shards for number, message_id in shard.records
    }
    delivered = {each.message_id for read in history.reads() for each in read.records}
    findings = []
    for sent in history.sent:
        if sent.message_id in told:
            continue
        shard, number = places.get(sent.message_id, ("", ""))
        how = "was read and never told" if sent.message_id in delivered else "was never read"
        findings.append(
            Finding(
                f"{sent.message_id} {how}; it lies in {shard}",
                sent.level,
                {"messageId": sent.message_id, "shard": shard, "sequenceNumber": number},
            )
        )
    return judged(len(history.sent), findings)


CLAUSE = Clause(
    id="nothing-lost",
    role=Role.CONSUMER,
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="Every message is processed, whatever happens to the stream, the calls and the consumer.",
    source="RDSS Message API 4.0.0, Message Gateway: at-least-once delivery",
    exercise="Valid messages are sent in every stage, also while the consumer is down.",
    needed=10,
    judge=judge,
    channels=ALL_CHANNELS,
    rules=(skipped_records.STARTS, skipped_records.RESTARTS),
)
