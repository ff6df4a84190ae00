"""A message over the limit that was put anyway."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen
from emulator.diagnosis.rules.bad_messages import describe
from rdss_sandbox.shapes.recorded_exchange import BadMessage, Exchange
from schemas.envelope import MAX_MESSAGE_BYTES


def judge(exchange: Exchange) -> Judgement:
    """A record that was refused for its size, or a message in a stream that is larger than one may be."""
    seen = [
        Seen(
            each.client,
            each.stream,
            each.at,
            f"{each.client} put a record of {each.bytes:,} bytes on {each.stream}, which refused it",
            {"bytes": each.bytes, "messageId": each.message_id, "most": MAX_MESSAGE_BYTES},
        )
        for each in exchange.refusals
        if _too_large(each.code, each.bytes)
    ]
    looked = len(seen)
    for stream in exchange.streams:
        looked += stream.contents.messages
        blamed = [each for each in stream.contents.oversize if not each.fault]
        seen += describe(stream, blamed, _say)
    return Judgement(looked, tuple(seen))


def _too_large(code: str, size: int) -> bool:
    return code in {"ValidationException", "InvalidArgumentException"} and size > MAX_MESSAGE_BYTES


def _say(bad: list[BadMessage]) -> str:
    return f"a message of {bad[0].what} on it; one has {MAX_MESSAGE_BYTES:,} bytes at most"


RULE = Rule(
    id="over-the-limit",
    title="A message over the limit put anyway",
    harm=Harm.BREAKS,
    sign=f"A message has more than {MAX_MESSAGE_BYTES:,} bytes, whether the stream took it or refused it.",
    sentence="A message that is too large for one record is sent as a sequence of messages.",
    source="RDSS Message API 4.0.0, Multi-Message Sequence",
    advice="Split a message that is too large into a sequence before it is put.",
    judge=judge,
)
