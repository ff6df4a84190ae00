"""What the clauses for producers, and for clients of queues, find in small histories."""

from __future__ import annotations

import msgspec
import pytest

from rdss_sandbox.shapes.trace import Delivery, Disposition, Put, PutEntry, Read, Settlement, Subscription
from sandbox.certify.clause import Judgement, Role, judge_clause
from sandbox.certify.clauses import clauses
from sandbox.certify.history import (
    FinalShard,
    History,
    KeptRecord,
    Level,
    Life,
    OfferedMessage,
    SentBad,
    SentSequence,
    StageEnd,
    Statement,
)
from schemas.rdss.samples import Samples

_THROTTLED = "ProvisionedThroughputExceededException"


def _history(stream: str = "output") -> History:
    """Four messages over three stages, each put, stored and told once, in one start."""
    history = History(stream, 0.0)
    history.stages = [
        (0.0, "plain", Level.BRONZE),
        (10.0, "errors", Level.SILVER),
        (20.0, "kills", Level.GOLD),
    ]
    history.ends = [StageEnd(9.0, "plain", 0), StageEnd(19.0, "errors", 0), StageEnd(29.0, "kills", 0)]
    times = (1.0, 2.0, 11.0, 21.0)
    history.sent = [
        OfferedMessage(f"m-{at}", f"digest {at}", history.level_at(when), when)
        for at, when in enumerate(times)
    ]
    history.exchanges = [_put(when, f"m-{at}", stream=stream) for at, when in enumerate(times)]
    history.stored = [KeptRecord(f"m-{at}", b"{}") for at in range(4)]
    history.told = [Statement(f"m-{at}", when + 0.2, 0) for at, when in enumerate(times)]
    history.lives = [Life(0, 0.0, 29.5, "SIGTERM", 0)]
    return history


def _put(
    at: float, *names: str | None, life: int = 0, error: str = "", stream: str = "output", **more: bool
) -> Put:
    """A call that took a tenth of a second; names behind ``!`` were refused one by one."""
    entries = tuple(
        PutEntry(
            name and name.lstrip("!"),
            f"text of {name and name.lstrip('!')}",
            1,
            "key",
            _THROTTLED if name and name[0] == "!" else "",
        )
        for name in names
    )
    return Put(at, at + 0.1, life, stream, entries, len(names) > 1, error, **more)


def _judge(history: History, name: str, role: Role = Role.PRODUCER, channel: str = "kinesis") -> Judgement:
    (clause,) = (each for each in clauses(role, channel=channel) if each.id == name)
    return judge_clause(clause, history)


def _told(history: History, name: str, role: Role = Role.PRODUCER, channel: str = "kinesis") -> list[str]:
    """Each finding in a line: its stage and level, what it says, and its facts."""
    return [
        f"{each.stage or '-'} {Level(each.level).name}: {each.said} {each.facts}"
        for each in _judge(history, name, role, channel).findings
    ]


def test_a_right_producer_gives_no_clause_a_finding() -> None:
    """Whoever puts, stores and tells each message once breaches nothing."""
    history = _history()
    history.stored = [KeptRecord(f"m-{at}", msgspec.json.encode(Samples(at).message())) for at in range(4)]
    for clause in clauses(Role.PRODUCER):
        judgement = judge_clause(clause, history)
        assert (judgement.findings, "error" in judgement.reason) == ((), False), clause.id


def test_what_did_not_come_to_the_stream_is_told() -> None:
    """Not at all, although it was told, or after the next start alone; and what was told before its answer."""
    history = _history()
    history.stored = [KeptRecord("m-0", b"{}"), KeptRecord("m-1", b"{}", 1), KeptRecord("m-0", b"{}", 1)]
    history.told = [
        Statement("m-0", 1.05, 0),
        Statement("m-1", 2.1, 0),
        Statement("m-2", 11.2, 0),
        Statement("m-9", 0.0, 0),
    ]
    history.exchanges += [
        _put(0.5, "m-0", life=1),
        _put(0.5, "m-1", confirmed=False),
        _put(0.1, "m-2", error="x"),
    ]
    assert _judge(history, "nothing-lost").exposure == 4
    assert _told(history, "nothing-lost") == [
        "plain BRONZE: m-1 came to the stream only after the producer was started again {'messageId': 'm-1', 'told': True}",
        "errors SILVER: m-2 is not in the stream, although it was reported as sent {'messageId': 'm-2', 'told': True}",
        "kills GOLD: m-3 is not in the stream {'messageId': 'm-3', 'told': False}",
        "plain BRONZE: m-0 was reported as sent at 1.050 s, and its call was answered at 1.100 s: a crash between loses it {'at': 1.05, 'messageId': 'm-0'}",
    ]
    history.shards = [FinalShard("output", (), ())]
    assert not any("answered" in each for each in _told(history, "nothing-lost"))


def test_after_a_kill_what_was_told_is_not_put_again_and_what_was_left_is_put() -> None:
    """The messages are counted and named; a start that nothing followed is no opportunity."""
    history = _history()
    history.lives = [Life(0, 0.0, 12.0, "SIGKILL"), Life(1, 12.5, 29.0, "SIGTERM", 0)]
    history.ends = [StageEnd(9.0, "plain", 0), StageEnd(19.0, "errors", 1), StageEnd(29.0, "kills", 1)]
    history.stored = [KeptRecord("m-2", b"{}")]
    history.told = [Statement("m-0", 1.2, 0), Statement("m-1", 2.2, 0), Statement("m-2", 13.0, 1)]
    history.exchanges += [_put(13.0, "m-1", "m-0", "m-2", life=1), _put(13.0, "m-3", life=0)]
    assert _judge(history, "resumes-after-a-kill").exposure == 1
    assert _told(history, "resumes-after-a-kill") == [
        "errors SILVER: 2 messages reported before the kill at 12.00 s were put again after it {'at': 12.0, 'messageIds': ['m-0', 'm-1']}",
        "errors SILVER: 1 messages were not put after the kill at 12.00 s {'at': 12.0, 'messageIds': ['m-3']}",
    ]
    history.lives[1].end = "SIGKILL"
    assert _judge(history, "resumes-after-a-kill").exposure == 1


@pytest.mark.parametrize(
    ("clause", "channel", "error", "other"),
    [
        ("survives-errors", "kinesis", "InternalFailure", _THROTTLED),
        ("survives-errors", "kinesis", "disconnect", _THROTTLED),
        ("survives-throttling", "kinesis", _THROTTLED, "disconnect"),
        ("publishes-again-what-was-nacked", "rabbitmq", "nack", "returned"),
        ("survives-errors", "rabbitmq", "541", "nack"),
        ("survives-errors", "rabbitmq", "disconnect", "returned"),
        ("notices-returned-messages", "rabbitmq", "returned", "nack"),
    ],
)
def test_what_was_refused_and_not_put_again_is_told(
    clause: str, channel: str, error: str, other: str
) -> None:
    """What came to the stream later is in order; what is no message of the file is nobody's loss."""
    history = _history()
    history.exchanges = [
        _put(1.0, "m-0", error=error),
        _put(1.5, "m-1", error=error),
        _put(2.5, "other", error=error),
    ]
    history.exchanges.append(_put(11.0, "m-2", error=other))
    history.stored, history.told = [KeptRecord("m-1", b"{}"), KeptRecord("m-2", b"{}", 1)], []
    assert _judge(history, clause, channel=channel).exposure == 3
    assert _told(history, clause, channel=channel) == [
        (
            "plain BRONZE: m-0 was refused at 1.10 s and was not put again before the producer's end "
            "{'at': 1.1, 'messageId': 'm-0'}"
        )
    ]


def test_failed_entries_are_put_again_and_they_alone() -> None:
    """Of a call that failed in part: those that never came, and the accepted that were put once more."""
    history = _history()
    history.exchanges = [
        _put(1.0, "m-0", "m-1", "!m-2"),
        _put(1.5, "m-0", "m-1", "m-2"),
        _put(11.0, "m-0", "!m-3"),
        _put(11.5, "m-0", "m-5", life=1),
        _put(12.0, "a", "b", "c", "!d"),
        _put(12.5, "a", "b", "d"),
        _put(13.0, "a", "b", error="InternalFailure"),
        _put(13.5, "a", "b"),
    ]
    assert _judge(history, "retries-failed-entries").exposure == 3
    assert _told(history, "retries-failed-entries") == [
        "errors SILVER: m-3 failed in a PutRecords call at 11.10 s and was not put again before the producer's end {'at': 11.1, 'messageId': 'm-3'}",
        "plain BRONZE: 2 entries accepted at 1.10 s were put again with the failed {'at': 1.1, 'failed': 1}",
    ]
    assert _judge(history, "retries-failed-entries").reason == "stimulus-never-landed"
    assert _judge(_history(), "retries-failed-entries").reason == "feature-never-used"
    history.exchanges = []
    assert _judge(history, "retries-failed-entries").reason == "stimulus-never-landed"


def _refused(*pauses: float, name: str = "m-0", life: int = 0, at: float = 1.0) -> list[Put]:
    """A message that is refused until the last try, with these pauses from each answer to the next call."""
    puts = [_put(at, name, error=_THROTTLED, life=life)]
    for number, pause in enumerate(pauses, 1):
        error = "" if number == len(pauses) else _THROTTLED
        puts.append(_put(puts[-1].at + pause, name, error=error, life=life))
    return puts


@pytest.mark.parametrize(
    ("pauses", "breaches"),
    [
        ([0.2, 0.4, 0.8], 0),
        ([0.001, 0.002, 0.004], 1),
        ([0.3, 0.3, 0.3], 1),
        ([0.3, 0.44, 0.3], 1),
        ([0.3, 0.3, 0.45], 0),
        ([1.5, 1.5, 1.5], 0),
        ([0.3], 0),
        ([0.01, 0.01], 2),
        ([31.0, 0.3], 0),
    ],
)
def test_pauses_are_made_and_grow(pauses: list[float], breaches: int) -> None:
    """Below 20 ms is no pause; of rows below a second one has to grow by half; 30 s are no pause between tries."""
    history = _history()
    history.exchanges = _refused(*pauses)
    judgement = _judge(history, "backs-off")
    assert judgement.exposure == sum(pause < 30 for pause in pauses)
    assert len(judgement.findings) == breaches


def test_pauses_that_are_no_pauses_are_told_with_their_length() -> None:
    """In milliseconds, and row by row; each start's pauses are its own."""
    history = _history()
    history.exchanges = [
        *_refused(0.25, 0.25),
        *_refused(0.25, life=1, at=2.0),
        *_refused(0.25, 0.25, life=2, at=5.0),
    ]
    assert _told(history, "backs-off") == [
        "- SILVER: no pause was longer than the one before it {'pauses': [[0.25, 0.25], [0.25, 0.25]]}",
    ]
    history.exchanges = [*_refused(0.01, 0.01)]
    assert _told(history, "backs-off") == [
        "- SILVER: the producer tried again at once: half of 2 pauses are below 10 ms {}",
        "- SILVER: no pause was longer than the one before it {'pauses': [[0.01, 0.01]]}",
    ]


def test_pauses_other_than_those_specified_are_told() -> None:
    """200 ms, 400 ms, 800 ms: none may be shorter than nine tenths, and not all twice as long and more."""
    history = _history()
    history.exchanges = [*_refused(0.2, 0.4, 0.8), *_refused(0.17, 0.4, 2.5, name="m-1", at=5.0)]
    assert _judge(history, "back-off-as-specified").exposure == 6
    assert _told(history, "back-off-as-specified") == [
        "- GOLD: pause 1 took 170 ms, not 200 ms {}",
    ]
    history.exchanges = _refused(0.8, 0.4)
    assert _told(history, "back-off-as-specified") == [
        "- GOLD: pause 1 took 800 ms, not 200 ms {}",
    ]
    history.exchanges = [*_refused(0.8, 0.4), _put(5.0, "m-1"), _put(5.4, "m-2"), _put(5.8, "m-3")]
    assert _told(history, "back-off-as-specified") == []


def test_an_invalid_message_is_told_with_why() -> None:
    """With its id, where it has one, and the code that it deserves."""
    history = _history()
    history.stored = [
        KeptRecord("m-0", msgspec.json.encode(Samples(1).message())),
        KeptRecord("m-1", b"[]"),
        KeptRecord(None, b"\xff"),
    ]
    assert _judge(history, "valid-messages").exposure == 3
    assert _told(history, "valid-messages") == [
        "plain GOLD: m-1 is invalid, GENERR007: a message is a JSON object, and this is an array {'messageId': 'm-1'}",
        "- GOLD: a record without messageId is invalid, GENERR007: the bytes are not JSON in UTF-8: JSON is malformed: invalid character (byte 0) {'messageId': None}",
    ]


def test_parts_that_do_not_join_are_told() -> None:
    """A large message of the file that no sequence in the stream joins to."""
    history = _history()
    history.sequences = [SentSequence(("s-1", "s-2"), "digest", 1.0)]
    assert _judge(history, "never-oversize").exposure == 1
    assert _told(history, "splits-sequences-rightly") == [
        "- GOLD: no complete sequence in the stream joins to the body of s-1 {'messageId': 's-1'}",
    ]


def test_a_message_that_changed_is_told() -> None:
    """Put under an id that the file has not, or again with another text."""
    history = _history()
    other = PutEntry("m-1", "another text", 1, "key")
    history.bad = [SentBad("late", "GENERR003", "error", 1.0)]
    history.sequences = [SentSequence(("m-3", "s-2"), "digest", 1.0)]
    history.exchanges += [
        _put(3.0, "m-0", "m-2"),
        Put(11.5, 11.6, 0, "output", (other,)),
        Put(12.5, 12.6, 0, "output", (other,)),
        Put(12.5, 12.6, 0, "output", (PutEntry("m-3", "another text", 1, "key"),)),
        _put(13.0, "unknown", None, "late"),
        _put(14.0, "unknown", None),
    ]
    assert _judge(history, "keeps-the-message-id").exposure == 4
    assert _told(history, "keeps-the-message-id") == [
        "errors GOLD: m-1 was put again with another text {'messageId': 'm-1', 'at': 11.6}",
        "errors GOLD: unknown is no message of the file {'messageId': 'unknown', 'at': 13.1}",
        "errors GOLD: a record without messageId is no message of the file {'messageId': None, 'at': 13.1}",
    ]


def test_an_expired_message_that_was_put_is_told() -> None:
    """With the time of the call."""
    history = _history()
    history.bad = [SentBad("late", "GENERR003", "error", 1.0), SentBad("m-9", "GENERR003", "error", 1.0)]
    history.exchanges.append(_put(11.5, "late"))
    assert _judge(history, "sends-nothing-expired").exposure == 2
    assert _told(history, "sends-nothing-expired") == [
        "- GOLD: late had expired, and was put at 11.60 s {'messageId': 'late'}",
    ]


def test_publishes_are_told_with_what_they_lack() -> None:
    """Not persistent, not confirmed before they were told, not mandatory."""
    history = _history()
    history.exchanges = [
        _put(1.0, "m-0", persistent=False),
        _put(2.0, "m-1", confirmed=False),
        _put(2.5, "m-1"),
        _put(11.0, "m-2", error="nack"),
        _put(21.0, "m-3", mandatory=False),
        _put(21.5, "m-8", mandatory=False),
    ]
    history.told[1] = Statement("m-1", 2.2, 0)
    assert _judge(history, "publishes-persistently", channel="rabbitmq").exposure == 6
    assert _told(history, "publishes-persistently", channel="rabbitmq") == [
        "plain BRONZE: m-0 was published with a delivery mode other than 2: a restart of the broker loses it {'at': 1.1}",
    ]
    assert _judge(history, "tells-after-the-confirm", channel="rabbitmq").exposure == 4
    assert _told(history, "tells-after-the-confirm", channel="rabbitmq") == [
        "plain BRONZE: m-1 was reported as sent at 2.200 s, and confirmed at 2.600 s {'at': 2.2, 'messageId': 'm-1'}",
        "errors SILVER: m-2 was reported as sent without a confirm of the broker {'at': 11.2, 'messageId': 'm-2'}",
    ]
    assert _judge(history, "notices-returned-messages", channel="rabbitmq").exposure == 1
    assert _told(history, "notices-returned-messages", channel="rabbitmq") == [
        "kills GOLD: m-8 was confirmed at 21.60 s and is in no queue: it was not published as mandatory {'at': 21.6}",
    ]


def test_a_returned_message_is_not_told_before_it_was_published_again() -> None:
    """Between its return and its next publish, by the same start."""
    history = _history()
    history.exchanges = [
        _put(1.0, "m-0", error="returned"),
        _put(2.0, "m-0"),
        _put(3.0, "m-1", error="returned"),
        _put(4.0, "m-1"),
    ]
    history.told = [Statement("m-0", 1.5, 0), Statement("m-1", 4.2, 0), Statement("m-1", 3.5, 1)]
    assert _told(history, "notices-returned-messages", channel="rabbitmq") == [
        "plain BRONZE: m-0 was returned at 1.10 s, and reported as sent at 1.50 s {'at': 1.1, 'messageId': 'm-0'}",
    ]


def _queue() -> History:
    """Four messages of a queue, each delivered, told and acknowledged, in one start."""
    history = _history("queue")
    history.shards = [FinalShard("queue", (), tuple((str(at), f"m-{at}") for at in range(4)))]
    history.exchanges = [Subscription(0.5, 0, "queue", 10)]
    for at, sent in enumerate(history.sent):
        delivery = (Delivery(str(at), sent.message_id),)
        history.put_at["queue", str(at)] = sent.at
        history.exchanges += [
            Read(sent.at + 0.1, 0, "queue", "queue", records=delivery, pushed=True, owed=True),
            Settlement(sent.at + 0.3, 0, "queue", Disposition.ACK, delivery),
        ]
    return history


def _of_queue(history: History, name: str) -> tuple[int, str, list[str]]:
    judgement = _judge(history, name, Role.CONSUMER, "rabbitmq")
    return judgement.exposure, judgement.reason, _told(history, name, Role.CONSUMER, "rabbitmq")


def test_a_right_consumer_of_a_queue_gives_no_clause_a_finding() -> None:
    """Whoever acknowledges each message after telling it breaches nothing."""
    for clause in clauses(Role.CONSUMER, channel="rabbitmq"):
        judgement = judge_clause(clause, _queue())
        assert (judgement.findings, "error" in judgement.reason) == ((), False), clause.id


def test_an_ack_before_the_effect_is_told() -> None:
    """Before it was told, or never reported, or automatic."""
    history = _queue()
    history.told[0] = Statement("m-0", 1.4, 0)
    del history.told[2]
    history.told.append(Statement("m-3", 25.0, 0))
    history.exchanges.append(Settlement(0.1, 0, "queue", Disposition.REQUEUE, (Delivery("1", "m-1"),)))
    history.exchanges.append(Settlement(0.1, 0, "queue", Disposition.ACK, (Delivery("9", "other"),)))
    history.exchanges.append(Subscription(11.5, 0, "queue", 10, no_ack=True))
    assert _of_queue(history, "acks-after-the-effect")[0] == 4
    assert _of_queue(history, "acks-after-the-effect")[2] == [
        "errors SILVER: queue was consumed with automatic acknowledgement: what is in hand at a crash is lost {'at': 11.5}",
        "plain BRONZE: m-0 was acknowledged at 1.300 s and reported at 1.400 s: a crash between loses it {'at': 1.3, 'messageId': 'm-0'}",
        "errors SILVER: m-2 was acknowledged at 11.300 s and never reported: a crash between loses it {'at': 11.3, 'messageId': 'm-2'}",
    ]


def test_a_delivery_that_was_kept_is_told() -> None:
    """Told and not acknowledged, or left in the queue; a start that ended at once had no time to."""
    history = _queue()
    history.exchanges = [
        each for each in history.exchanges if not isinstance(each, Settlement) or each.at > 20
    ]
    history.exchanges[2] = Read(2.1, 0, "queue", "queue", records=(Delivery("1", "m-1"),), pushed=True)
    history.left = ["3", "7", "2"]
    history.lives[0].ended = 16.11
    assert _of_queue(history, "acks-all-that-it-processed")[0] == 4
    assert _of_queue(history, "acks-all-that-it-processed")[2] == [
        "plain BRONZE: m-0 was reported and not acknowledged: it goes back to the queue, and comes again {'messageId': 'm-0'}",
        "errors SILVER: m-2 was reported and not acknowledged: it goes back to the queue, and comes again {'messageId': 'm-2'}",
        "kills GOLD: m-3 was reported and not acknowledged: it goes back to the queue, and comes again {'messageId': 'm-3'}",
    ]
    history.lives[0].ended = 6.1
    history.left = []
    assert _of_queue(history, "acks-all-that-it-processed")[2] == []
    history.lives = []
    assert len(_of_queue(history, "acks-all-that-it-processed")[2]) == 2


def test_a_queue_without_a_limit_is_told() -> None:
    """A consumer without acknowledgements has none to set, nor one that gets messages one by one."""
    history = _queue()
    assert _of_queue(history, "limits-its-prefetch")[:2] == (1, "stimulus-never-landed")
    history.exchanges += [Subscription(11.5, 0, "queue", 0), Subscription(12.5, 0, "queue", 0, no_ack=True)]
    assert _of_queue(history, "limits-its-prefetch")[2] == [
        "errors SILVER: queue was consumed without a prefetch limit at 11.50 s: the whole queue goes to one consumer {'at': 11.5}",
    ]
    for owed, pushed in ((False, True), (True, False)):
        history.exchanges = [Read(2.1, 0, "queue", "queue", records=(), owed=owed, pushed=pushed)]
        assert _of_queue(history, "limits-its-prefetch") == (0, "feature-never-used", [])


def test_a_queue_that_was_left_after_an_error_is_told() -> None:
    """What lay in the queue then was not delivered any more."""
    history = _queue()
    history.exchanges = [
        each
        for each in history.exchanges
        if (isinstance(each, Read) and each.at < 11.05) or isinstance(each, Subscription)
    ]
    history.exchanges.append(Read(11.2, 0, "queue", "queue", error="541"))
    assert _of_queue(history, "survives-errors")[0] == 1
    assert _of_queue(history, "survives-errors")[2] == [
        "errors SILVER: queue was not read again after 541 at 11.20 s: 1 of its records were not delivered {'at': 11.2, 'shard': 'queue'}",
    ]


def test_poison_is_told_with_what_became_of_it() -> None:
    """Put back again and again, acknowledged and put nowhere, or kept; a dead letter is in order."""
    history = _queue()
    names = [f"p-{at}" for at in range(7)]
    history.poison = [*names, "never given"]
    history.put_at |= {("queue", name): 11.0 for name in names}
    one = {name: (Delivery(name, None),) for name in names}
    history.exchanges += [
        Read(11.5 + at, 0, "queue", "queue", records=one[name], pushed=True, owed=True)
        for at, name in enumerate(names)
    ]
    requeue, ack, discard = Disposition.REQUEUE, Disposition.ACK, Disposition.DISCARD
    history.exchanges += [Settlement(12.0, 0, "queue", requeue, one["p-0"])] * 4
    history.exchanges += [Settlement(12.0, 0, "queue", requeue, one["p-1"])] * 3
    history.exchanges += [
        Settlement(12.6, 0, "queue", discard, one["p-1"]),
        Settlement(13.6, 0, "queue", ack, one["p-2"]),
        _put(14.6, "p", stream="dead"),
        Settlement(14.8, 0, "queue", ack, one["p-3"]),
        Settlement(15.8, 1, "queue", discard, one["p-4"]),
        _put(16.6, "p", stream="dead", error="nack"),
        Settlement(16.8, 0, "queue", ack, one["p-5"]),
    ]
    assert _of_queue(history, "dead-letters-poison")[0] == 7
    assert _of_queue(history, "dead-letters-poison")[2] == [
        "- SILVER: poison p-0 was put back 4 times, and came again each time {'number': 'p-0'}",
        "- SILVER: poison p-2 was acknowledged and put nowhere: nobody learns of it {'number': 'p-2'}",
        "- SILVER: poison p-4 was neither rejected nor acknowledged, and comes again {'number': 'p-4'}",
        "- SILVER: poison p-5 was acknowledged and put nowhere: nobody learns of it {'number': 'p-5'}",
        "- SILVER: poison p-6 was neither rejected nor acknowledged, and comes again {'number': 'p-6'}",
    ]
