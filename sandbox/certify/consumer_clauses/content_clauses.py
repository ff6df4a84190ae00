"""The clauses on what messages hold: bodies, sequences, and older versions."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from sandbox.certify.clause import (
    ALL_CHANNELS,
    NEVER_LANDED,
    NEVER_USED,
    Clause,
    Group,
    Judgement,
    Role,
    has_sequences,
    has_versions,
    is_rdss,
    judge_each,
    judged,
    report,
)
from sandbox.certify.history import History, Level, Returned, SentOlder, SentSequence

_clause = partial(Clause, role=Role.CONSUMER, channels=ALL_CHANNELS)
_contract = partial(_clause, group=Group.CONTRACT, level=Level.GOLD)


@partial(
    _clause,
    id="bodies-unaltered",
    group=Group.DELIVERY,
    level=Level.BRONZE,
    demand="The body of a message reaches the work unaltered, to the byte.",
    source="RDSS Message API 4.0.0, Message Body",
    exercise='The consumer tells "sha256", the SHA-256 of the body\'s text as it was sent.',
    advice="Hand on the bytes of the body as they came; do not parse them and write them again.",
    needed=10,
)
def bodies_unaltered(history: History) -> Judgement:
    messages = {sent.message_id: sent for sent in history.sent}
    statements = [each for each in history.told if each.digest is not None and each.message_id in messages]
    findings = [
        report(
            history,
            messages[each.message_id].at,
            f"the body of {each.message_id} has the SHA-256 {each.digest}, and was sent with "
            f"{messages[each.message_id].digest}",
            messageId=each.message_id,
        )
        for each in statements
        if each.digest != messages[each.message_id].digest
    ]
    return judged(len(statements), findings, "not-observable")


@partial(
    _contract,
    id="joins-sequences",
    demand="The parts of a sequence are joined, in whatever order they come, and processed once.",
    source="RDSS Message API 4.0.0, Message Sequences",
    exercise="Bodies are cut into two to four parts, sent last part first, with a restart behind it.",
    advice="Keep the parts by sequence and position where a restart finds them, and process the whole "
    "when the last is there.",
    needed=2,
    asked_of=has_sequences,
)
def joins_sequences(history: History) -> Judgement:
    """A sequence is told once, by the messageId of any of its parts."""

    def find_wrong(sequence: SentSequence) -> str | None:
        statements = [each for each in history.told if each.message_id in sequence.message_ids]
        if len(statements) != 1:
            return f"a sequence of {len(sequence.message_ids)} parts was reported {len(statements)} times"
        if statements[0].digest in {None, sequence.digest}:
            return None
        return f"the body of a sequence of {len(sequence.message_ids)} parts was not joined as it was cut"

    return judge_each(history.sequences, find_wrong)


@partial(
    _contract,
    id="knows-older-versions",
    demand="A message of version 3.0.0, 3.0.1 or 3.0.2 is upgraded and processed.",
    source="RDSS Message API 4.0.0, version, and Releases: data model 3.0.0 to 4.0.0",
    exercise="Two messages of each of these versions are sent, with their fields, names and numbers.",
    advice="Look at the header's version first, and bring an older message to today's form before you "
    "validate it.",
    needed=3,
    asked_of=has_versions,
)
def knows_older_versions(history: History) -> Judgement:
    times, rejected = history.times_told(), history.rejected()

    def find_wrong(sent: SentOlder) -> str | None:
        if sent.message_id in times:
            return None
        places = rejected.get(sent.message_id, [])
        became = f"is in {places[0][0]} with {places[0][1] or 'no errorCode'}" if places else "is in no queue"
        return f"a message of version {sent.version} was not processed, and {became}"

    return judge_each(history.older, find_wrong)


@partial(
    _contract,
    id="drops-its-own-echo",
    demand="What the consumer published itself is dropped when it comes back.",
    source="RDSS Message API 4.0.0, Local Data Repository",
    exercise="What it put on its output stream and on the queues is put on its input, byte for byte.",
    advice="Put your own name on what you publish (RDSS: messageHistory), and drop what has it.",
    needed=2,
    asked_of=is_rdss,
)
def drops_its_own_echo(history: History) -> Judgement:
    """A message that came back is a breach when it is told of, or put on a queue, after that."""
    read = {each.message_id: each_read.at for each_read in history.reads() for each in each_read.records}
    played = any(name == "its own messages" for _, name, _ in history.stages)

    def find_wrong(echo: Returned) -> str | None:
        queues = [
            put.stream
            for put in history.puts_elsewhere()
            if put.at > echo.at and any(each.message_id == echo.message_id for each in put.entries)
        ]
        is_told = any(each.message_id == echo.message_id and each.at > echo.at for each in history.told)
        if not (is_told or queues):
            return None
        done = "processed" if is_told else f"put on {queues[0]}"
        return f"{echo.message_id}, which the consumer put on {echo.stream}, came back and was {done}"

    came = (each for each in history.returned if read.get(each.message_id, 0.0) >= each.at)
    reason = NEVER_USED if played and not history.returned else NEVER_LANDED
    return replace(judge_each(came, find_wrong), reason=reason)
