"""A part of a sequence that never came."""

from __future__ import annotations

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen, count
from rdss_sandbox.shapes.recorded_exchange import Exchange

PATIENCE_SECONDS = 60.0
"""How long a part may take after the last one that came."""
_SHOWN = 10


def judge(exchange: Exchange) -> Judgement:
    seen = []
    for stream in exchange.streams:
        for each in stream.contents.incomplete:
            if each.fault or exchange.taken - each.last < PATIENCE_SECONDS:
                continue
            writer = each.writers[0] if len(each.writers) == 1 else None
            said = (
                f"{stream.name}: the sequence {each.sequence} lacks {count(len(each.missing), 'part')} of "
                f"{each.total}, {exchange.taken - each.last:.0f} s after the last one that came"
            )
            evidence = {
                "sequence": each.sequence,
                "total": each.total,
                "missing": list(each.missing[:_SHOWN]),
                "last": each.last,
            }
            seen.append(Seen(writer, stream.name, each.last, said, evidence))
    return Judgement(sum(stream.contents.sequences for stream in exchange.streams), tuple(seen))


RULE = Rule(
    id="incomplete-sequence",
    title="A part of a sequence that never came",
    harm=Harm.LOSES,
    sign="Sixty seconds after the last part of a sequence, a position is still missing.",
    sentence="The parts of a sequence have positions from 1 to its total, and together make the message.",
    source="RDSS Message API 4.0.0, Multi-Message Sequence",
    advice="Put every part, and put a part again that the broker did not take.",
    judge=judge,
)
