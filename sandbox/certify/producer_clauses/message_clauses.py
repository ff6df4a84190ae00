"""The clauses on the messages that are put: their form, their size, and what they were made of."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from hashlib import sha256

from emulator.diagnosis.content_reader import KnownTexts, describe_refusal
from emulator.diagnosis.rules import bad_messages
from rdss_sandbox.shapes.certificate import Finding
from sandbox.certify.clause import (
    ALL_CHANNELS,
    Clause,
    Group,
    Judgement,
    Role,
    has_expiry,
    has_ids,
    has_sequences,
    judge_each,
    judged,
)
from sandbox.certify.history import History, KeptRecord, Level
from schemas.bound import CONTRACT

_clause = partial(Clause, role=Role.PRODUCER, group=Group.CONTRACT, level=Level.GOLD)


@partial(
    _clause,
    id="valid-messages",
    demand="Everything that is published is a valid message.",
    source="RDSS Message API 4.0.0, Message Format",
    exercise="Every record of the stream is judged.",
    needed=10,
    channels=ALL_CHANNELS,
    rules=(bad_messages.INVALID, bad_messages.FOREIGN),
)
def valid_messages(history: History) -> Judgement:
    def find_wrong(each: KeptRecord) -> str | None:
        why = describe_refusal(CONTRACT.judge(each.data))
        return f"{each.message_id or 'a record without messageId'} is invalid, {why}" if why else None

    return judge_each(history.stored, find_wrong)


@partial(
    _clause,
    id="never-oversize",
    demand="No record is larger than a message may be.",
    source="RDSS Message API 4.0.0, Message Sequences",
    exercise="The file has messages that are too large for one record; without sequences, of any size.",
    needed=1,
    rules=(bad_messages.OVERSIZE,),
)
def never_oversize(history: History) -> Judgement:
    return Judgement(len(history.sequences if CONTRACT.sequences else history.stored))


@partial(
    _clause,
    id="splits-sequences-rightly",
    demand="A message that is too large is cut into parts that join to its body.",
    source="RDSS Message API 4.0.0, Message Sequences",
    exercise="The file has messages that are too large for one record.",
    advice="Cut the body by bytes between characters, number the parts, and give all of them one sequence.",
    needed=1,
    asked_of=has_sequences,
)
def splits_sequences_rightly(history: History) -> Judgement:
    """The parts of a sequence, joined, have the body that the file has."""
    parts: dict[str, dict[int, bytes]] = defaultdict(dict)
    for each in history.stored:
        part = CONTRACT.peek(each.data).part
        if part is not None:
            parts[part.sequence][part.position] = each.data
    assert CONTRACT.sequences is not None
    wholes = [CONTRACT.sequences.judge_parts(found.values()).whole for found in parts.values()]
    joined = {sha256(CONTRACT.body(whole)).hexdigest() for whole in wholes if whole is not None}
    return judge_each(
        history.sequences,
        lambda each: (
            None
            if each.digest in joined
            else f"no complete sequence in the stream joins to the body of {each.message_id}"
        ),
    )


@partial(
    _clause,
    id="keeps-the-message-id",
    demand="A message that is sent again has the same messageId and the same text.",
    source="RDSS Message API 4.0.0, messageId",
    exercise="Messages are refused, and put again.",
    needed=2,
    channels=ALL_CHANNELS,
    rules=(bad_messages.ALTERED,),
    asked_of=has_ids,
)
def keeps_the_message_id(history: History) -> Judgement:
    """Each message of the file is put under its own messageId, and each time with the same text."""
    ids = {each.message_id for each in history.sent} | {each.message_id for each in history.bad}
    large = {sequence.message_ids[0] for sequence in history.sequences}
    parts = {each.message_id for each in history.stored if CONTRACT.peek(each.data).part}
    known = KnownTexts()
    again: set[str] = set()
    wrong: dict[tuple[str | None, str], float] = {}
    for put in history.puts():
        for entry in put.entries:
            name = entry.message_id
            if name is None or name not in ids:
                if name not in large | parts:
                    wrong.setdefault((name, "is no message of the file"), put.at)
            elif (same := known.note(name, entry.digest)) is not None:
                again.add(name)
                if not same and name not in large:
                    wrong.setdefault((name, "was put again with another text"), put.at)
    findings = [
        Finding(f"{name or 'a record without messageId'} {what}", Level.GOLD, {"messageId": name, "at": at})
        for (name, what), at in wrong.items()
    ]
    return judged(len(again), findings)


@partial(
    _clause,
    id="sends-nothing-expired",
    demand="A message that has expired is passed over, or goes to the error queue.",
    source="RDSS Message API 4.0.0, Error Codes",
    exercise="The file has messages that have expired.",
    needed=2,
    channels=ALL_CHANNELS,
    rules=(bad_messages.EXPIRED,),
    asked_of=has_expiry,
)
def sends_nothing_expired(history: History) -> Judgement:
    put = {entry.message_id: each.at for each in history.puts() for entry in each.entries}
    return judge_each(
        history.bad,
        lambda late: (
            f"{late.message_id} had expired, and was put at {put[late.message_id]:.2f} s"
            if late.message_id in put
            else None
        ),
    )
