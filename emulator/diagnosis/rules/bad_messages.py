"""Messages in a stream that should not be there as they are, and versions of objects that fit no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from functools import partial
from operator import attrgetter as field

from emulator.diagnosis.rule import Harm, Judgement, Rule, Sighting, count
from rdss_sandbox.shapes.recorded_exchange import BadMessage, Contents, Exchange, StreamState
from schemas.bound import CONTRACT

_SHOWN = 5


def describe(
    stream: StreamState, bad: Iterable[BadMessage], say: Callable[[list[BadMessage]], str]
) -> list[Sighting]:
    """One mistake for each client that may have put them; ``say`` tells of its messages."""
    by_writer: dict[str | None, list[BadMessage]] = defaultdict(list)
    for each in bad:
        if not each.fault:
            by_writer[each.writers[0] if len(each.writers) == 1 else None].append(each)
    return [
        Sighting(
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


def judge_contents(
    pick: Callable[[Contents], Iterable[BadMessage]], chances: Callable[[Contents], int], noun: str, then: str
) -> Callable[[Exchange], Judgement]:
    """Make the judge of a kind of bad message: ``pick`` finds those of a stream, ``noun`` is what they are.

    What a client put is said with ``then`` behind it, in which ``{}`` is what is wrong with the first.
    """

    def say(bad: list[BadMessage]) -> str:
        return count(len(bad), noun) + then.format(bad[0].what)

    def judge(exchange: Exchange) -> Judgement:
        sightings = [
            found for stream in exchange.streams for found in describe(stream, pick(stream.contents), say)
        ]
        return Judgement(sum(chances(stream.contents) for stream in exchange.streams), tuple(sightings))

    return judge


_rule = partial(Rule, harm=Harm.BREAKS)

INVALID = _rule(
    id="invalid-message",
    title="An invalid message published",
    sign="A record has a message's header and does not validate; what a receiver rejects is left out.",
    sentence="Every message is valid against the message schema before it is published.",
    source="RDSS Message API 4.0.0, Message Format",
    advice="Validate before you put: sandbox message validate FILE says what is wrong.",
    judge=judge_contents(
        field("invalid"),
        lambda contents: contents.messages - contents.unvalidated,
        "invalid message",
        "; the first: {}",
    ),
)

ALTERED = _rule(
    id="altered-message",
    title="The same messageId put with different bytes",
    sign="Two records of a stream have one messageId and different bytes.",
    sentence="A messageId is unique to a message; a retry sends the same message.",
    source="RDSS Message API 4.0.0, Message Header: messageId",
    advice="Serialise a message once and put those bytes again; a changed message gets its own messageId.",
    judge=judge_contents(
        field("altered"), field("messages"), "message", " again with other bytes under the same messageId"
    ),
)

EXPIRED = _rule(
    id="expired-message",
    title="A message that had expired when it was sent",
    sign="A record comes more than five seconds after its expirationTimestamp, by the real clock too.",
    sentence=f"A message is not delivered when its expiration date has passed: {CONTRACT.expired}.",
    source="RDSS Message API 4.0.0, Error Codes",
    advice=f"Look for expiry at each try; what has expired goes to the error queue, {CONTRACT.expired}.",
    judge=judge_contents(field("expired"), field("expiring"), "message", " too late; the first: {}"),
)

LEAST_MESSAGES = 10
_ENOUGH = 0.75


def _list_foreign(contents: Contents) -> Iterable[BadMessage]:
    """Records that are no message, of a stream that is for messages.

    A stream for something else has few messages or none, and what a receiver rejected is on a queue for that.
    """
    enough = contents.messages >= max(
        LEAST_MESSAGES, _ENOUGH * (contents.messages + contents.foreign_records)
    )
    return contents.foreign if enough and not contents.rejected else ()


FOREIGN = _rule(
    id="no-message",
    title="Bytes that are no message on a stream of messages",
    sign=(
        f"A stream holds {LEAST_MESSAGES} messages or more, which are three quarters of its records, and one "
        "whose messageId cannot be read. Queues of rejected messages and aggregates of the KPL are left out."
    ),
    sentence="Malformed JSON is rejected by every receiver; so is what has no header.",
    source="RDSS Message API 4.0.0, Invalid Message Queue and Error Codes",
    advice="Put whole messages in UTF-8, uncompressed; what is no message belongs on a stream of its own.",
    judge=judge_contents(
        _list_foreign,
        lambda contents: contents.messages if contents.messages >= LEAST_MESSAGES else 0,
        "record",
        " that no receiver can read; the first: {}",
    ),
)


# Either may be the answer to a record that is too large.
_REFUSALS = frozenset({"ValidationException", "InvalidArgumentException"})


def judge_size(exchange: Exchange) -> Judgement:
    """A record that was refused for its size, or a message in a stream that is larger than one may be."""
    sightings = [
        Sighting(
            each.client,
            each.stream,
            each.at,
            f"{each.client} put a record of {each.bytes:,} bytes on {each.stream}, which refused it",
            {"bytes": each.bytes, "messageId": each.message_id, "most": CONTRACT.max_bytes},
        )
        for each in exchange.refusals
        if each.code in _REFUSALS and each.bytes > CONTRACT.max_bytes
    ]
    looked = len(sightings)
    for stream in exchange.streams:
        looked += stream.contents.messages
        sightings += describe(
            stream,
            stream.contents.oversize,
            lambda bad: f"a message of {bad[0].what} on it; one has {CONTRACT.max_bytes:,} bytes at most",
        )
    return Judgement(looked, tuple(sightings))


OVERSIZE = _rule(
    id="over-the-limit",
    title="A message over the limit put anyway",
    sign=f"A message has more than {CONTRACT.max_bytes:,} bytes, whether the stream took it or refused it.",
    sentence="A message that is too large for one record is sent as a sequence of messages.",
    source="RDSS Message API 4.0.0, Multi-Message Sequence",
    advice="Split a message that is too large into a sequence before it is put.",
    judge=judge_size,
)


PATIENCE_SECONDS = 60.0
"""How long a part may take after the last one that came."""
_PARTS_SHOWN = 10


def judge_sequences(exchange: Exchange) -> Judgement:
    sightings = []
    for stream in exchange.streams:
        for each in stream.contents.incomplete:
            if each.fault or exchange.taken - each.last < PATIENCE_SECONDS:
                continue
            writer = each.writers[0] if len(each.writers) == 1 else None
            sentence = (
                f"{stream.name}: the sequence {each.sequence} lacks {count(len(each.missing), 'part')} of "
                f"{each.total}, {exchange.taken - each.last:.0f} s after the last one that came"
            )
            evidence = {
                "sequence": each.sequence,
                "total": each.total,
                "missing": list(each.missing[:_PARTS_SHOWN]),
                "last": each.last,
            }
            sightings.append(Sighting(writer, stream.name, each.last, sentence, evidence))
    return Judgement(sum(stream.contents.sequences for stream in exchange.streams), tuple(sightings))


INCOMPLETE = Rule(
    id="incomplete-sequence",
    title="A part of a sequence that never came",
    harm=Harm.LOSES,
    sign="Sixty seconds after the last part of a sequence, a position is still missing.",
    sentence="The parts of a sequence have positions from 1 to its total, and together make the message.",
    source="RDSS Message API 4.0.0, Multi-Message Sequence",
    advice="Put every part, and put a part again that the broker did not take.",
    judge=judge_sequences,
)


_SOURCE = "RDSS Message API 4.0.0, Digital Object Versioning"
_LEFT_OUT = "Retries, answers, parts of sequences, and what is published again as it was are left out."

REUSED = _rule(
    id="reused-object-uuid",
    title="A new version under an objectUUID that was published before",
    sign=(
        "A MetadataUpdate and another message have one objectUUID, other bodies, and another type or "
        f"predecessor; or an update is isNewVersionOf itself. {_LEFT_OUT}"
    ),
    sentence="An objectUUID must not be duplicated when subsequent versions of the object are published.",
    source="RDSS Message API 4.0.0, Digital Object Identification",
    advice="Give each version an objectUUID of its own, isNewVersionOf the one before.",
    judge=judge_contents(
        field("reused"), field("updates"), "new version", " under a used objectUUID; the first: {}"
    ),
)

CHANGED = _rule(
    id="changed-object",
    title="An object that changed under its objectUUID",
    sign=(
        "Two messages of one type have one objectUUID and other bodies, whatever isPreviousVersionOf says. "
        f"{_LEFT_OUT}"
    ),
    sentence="An object must get a new version when any file or property of it is altered.",
    source=_SOURCE,
    advice="Publish a change as MetadataUpdate with a new objectUUID, isNewVersionOf the one before.",
    judge=judge_contents(
        field("changed"), field("objects"), "changed object", " with no new version; the first: {}"
    ),
)

UNLINKED = _rule(
    id="update-without-predecessor",
    title="An update that names no version before",
    sign=(f"A MetadataUpdate has no related UUID with isNewVersionOf or isPreviousVersionOf. {_LEFT_OUT}"),
    sentence="A new version must name the previous version's objectUUID, with the relation isNewVersionOf.",
    source=_SOURCE,
    advice="Add objectRelatedIdentifier: isNewVersionOf, with the objectUUID of the version before.",
    judge=judge_contents(
        field("unlinked"), field("updates"), "update", " of no version before; the first: {}"
    ),
)
