"""Messages in a stream that should not be there as they are."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from emulator.diagnosis.rule import Harm, Judgement, Rule, Seen, count
from rdss_sandbox.shapes.recorded_exchange import BadMessage, Exchange, StreamState

_SHOWN = 5


def describe(
    stream: StreamState, bad: Iterable[BadMessage], say: Callable[[list[BadMessage]], str]
) -> list[Seen]:
    """One mistake for each client that may have put them; ``say`` tells of its messages."""
    by_writer: dict[str | None, list[BadMessage]] = defaultdict(list)
    for each in bad:
        by_writer[each.writers[0] if len(each.writers) == 1 else None].append(each)
    return [
        Seen(
            writer,
            stream.name,
            found[0].at,
            f"{stream.name}: {writer or 'one of its writers'} put {say(found)}",
            {
                "messages": len(found),
                "messageIds": [each.message_id for each in found[:_SHOWN]],
                "sequenceNumbers": [each.sequence_number for each in found[:_SHOWN]],
                "why": [each.what for each in found[:_SHOWN]],
            },
            found[0].shard,
        )
        for writer, found in by_writer.items()
    ]


def judge_invalid(exchange: Exchange) -> Judgement:
    seen = [
        found
        for stream in exchange.streams
        for found in describe(
            stream,
            (each for each in stream.contents.invalid if not each.fault),
            lambda bad: f"{count(len(bad), 'invalid message')}; the first: {bad[0].what}",
        )
    ]
    contents = [stream.contents for stream in exchange.streams]
    return Judgement(sum(each.messages - each.unvalidated for each in contents), tuple(seen))


def judge_altered(exchange: Exchange) -> Judgement:
    seen = [
        found
        for stream in exchange.streams
        for found in describe(
            stream,
            (each for each in stream.contents.altered if not each.fault),
            lambda bad: f"{count(len(bad), 'message')} again with other bytes under the same messageId",
        )
    ]
    return Judgement(sum(stream.contents.messages for stream in exchange.streams), tuple(seen))


INVALID = Rule(
    id="invalid-message",
    title="An invalid message published",
    harm=Harm.BREAKS,
    sign="A record has a message's header and does not validate; what a receiver rejects is left out.",
    sentence="Every message is valid against the message schema before it is published.",
    source="RDSS Message API 4.0.0, Message Format",
    advice="Validate before you put: sandbox message validate FILE says what is wrong.",
    judge=judge_invalid,
)

ALTERED = Rule(
    id="altered-message",
    title="The same messageId put with different bytes",
    harm=Harm.BREAKS,
    sign="Two records of a stream have one messageId and different bytes.",
    sentence="A messageId is unique to a message; a retry sends the same message.",
    source="RDSS Message API 4.0.0, Message Header: messageId",
    advice="Serialise a message once and put those bytes again; a changed message gets its own messageId.",
    judge=judge_altered,
)
