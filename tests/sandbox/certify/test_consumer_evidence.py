"""What the clauses for consumers find in small histories: how often they looked, and the words of each finding."""

from __future__ import annotations

import pytest

from rdss_sandbox.shapes.trace import Delivery, IteratorRequest, Put, PutEntry, Read
from sandbox.certify.clause import Judgement, Role, judge_clause
from sandbox.certify.clauses import clauses
from sandbox.certify.history import (
    FinalShard,
    History,
    KeptRecord,
    Level,
    Life,
    OfferedMessage,
    Returned,
    SentBad,
    SentOlder,
    SentSequence,
    ShardChange,
    StageEnd,
    Statement,
)

_ONE, _TWO, _THREE = (f"shardId-00000000000{number}" for number in range(3))


def _history() -> History:
    """Six messages in two shards over three stages, each read and told once, in one start."""
    history = History("input", 0.0)
    history.stages = [
        (0.0, "plain", Level.BRONZE),
        (10.0, "split", Level.SILVER),
        (20.0, "kills", Level.GOLD),
    ]
    history.ends = [StageEnd(9.0, "plain", 0), StageEnd(19.0, "split", 0), StageEnd(29.0, "kills", 0)]
    times = (1.0, 2.0, 11.0, 12.0, 21.0, 22.0)
    history.sent = [
        OfferedMessage(f"m-{at}", f"digest {at}", history.level_at(when), when)
        for at, when in enumerate(times)
    ]
    history.shards = [
        FinalShard(_ONE, (), (("0", "m-0"), ("2", "m-2"), ("4", "m-4"))),
        FinalShard(_TWO, (), (("1", "m-1"), ("3", "m-3"), ("5", "m-5"))),
    ]
    history.put_at = {((_ONE, _TWO)[at % 2], str(at)): when for at, when in enumerate(times)}
    history.exchanges = [
        Read(when + 0.5, 0, "input", (_ONE, _TWO)[at % 2], "ij"[at % 2], (Delivery(str(at), f"m-{at}"),))
        for at, when in enumerate(times)
    ]
    history.told = [Statement(f"m-{at}", when + 0.6, 0) for at, when in enumerate(times)]
    history.lives = [Life(0, 0.0, 29.5, "SIGTERM", 0)]
    return history


def _killed() -> History:
    """The same client, killed at 22.0 with m-5 on the way, and started again at 22.2."""
    history = _history()
    history.lives = [Life(0, 0.0, 22.0, "SIGKILL"), Life(1, 22.2, 29.5, "SIGTERM", 0)]
    history.ends[2] = StageEnd(29.0, "kills", 1)
    history.exchanges[5] = Read(22.5, 1, "input", _TWO, "k", (Delivery("5", "m-5"),))
    history.told[5] = Statement("m-5", 22.6, 1)
    return history


def _judge(history: History, name: str) -> Judgement:
    (clause,) = (each for each in clauses(Role.CONSUMER) if each.id == name)
    return judge_clause(clause, history)


def _told(history: History, name: str) -> list[str]:
    """Each finding in a line: its stage and level, what it says, and its facts."""
    return [
        f"{each.stage or '-'} {Level(each.level).name}: {each.said} {each.facts}"
        for each in _judge(history, name).findings
    ]


@pytest.mark.parametrize("make", [_history, _killed])
def test_a_right_client_gives_no_clause_a_finding(make) -> None:
    """Neither one start nor a kill that is survived is a breach of anything."""
    for clause in clauses(Role.CONSUMER):
        judgement = judge_clause(clause, make())
        assert (judgement.findings, "error" in judgement.reason) == ((), False), clause.id


def test_what_was_lost_is_told_with_its_place() -> None:
    """Never read, read and not told, and told by a later start than that of its stage, are three things."""
    history = _history()
    history.lives = [Life(0, 0.0, 19.5, "SIGTERM", 0), Life(1, 19.6, 29.5, "SIGTERM", 0)]
    history.told = [each for each in history.told if each.message_id not in {"m-0", "m-2", "m-3"}]
    history.told.append(Statement("m-2", 19.8, 1))
    history.exchanges = [each for each in history.exchanges if each.records[0].message_id != "m-3"]
    history.sent.append(OfferedMessage("m-6", "digest 6", Level.GOLD, 23.0))
    assert _judge(history, "nothing-lost").exposure == 7
    assert _told(history, "nothing-lost") == [
        "plain BRONZE: m-0 was read and never reported; it lies in shardId-000000000000 {'at': 1.0, 'messageId': 'm-0', 'shard': 'shardId-000000000000', 'sequenceNumber': '0'}",
        "split SILVER: m-2 was reported only after the client was started again; it lies in shardId-000000000000 {'at': 11.0, 'messageId': 'm-2', 'shard': 'shardId-000000000000', 'sequenceNumber': '2'}",
        "split SILVER: m-3 was never read; it lies in shardId-000000000001 {'at': 12.0, 'messageId': 'm-3', 'shard': 'shardId-000000000001', 'sequenceNumber': '3'}",
        "kills GOLD: m-6 was never read; it lies in  {'at': 23.0, 'messageId': 'm-6', 'shard': '', 'sequenceNumber': ''}",
    ]


def test_a_message_that_was_told_again_is_told_with_its_cause() -> None:
    """It came twice, or once, or the client was started again: the words say which."""
    history = _killed()
    history.exchanges.append(Read(24.0, 1, "input", _ONE, "j", (Delivery("6", "m-4"), Delivery("7", None))))
    history.exchanges.append(Read(24.5, 1, "input", _ONE, "j", (Delivery("8", None),)))
    history.told += [
        Statement("m-0", 25.0, 1),
        Statement("m-1", 25.1, 1),
        Statement("m-4", 25.2, 1),
        Statement("m-4", 25.3, 1),
        Statement("m-5", 25.4, 1),
    ]
    assert _judge(history, "nothing-twice").exposure == 1
    assert _told(history, "nothing-twice") == [
        "kills GOLD: m-1 was reported 2 times, at 2.60 s and 25.10 s: the client was started again between {'at': 25.1, 'messageId': 'm-1', 'times': 2}",
        "kills GOLD: m-4 was reported 2 times, at 21.60 s and 25.20 s: the client was started again between {'at': 25.2, 'messageId': 'm-4', 'times': 2}",
        "kills GOLD: m-4 was reported 3 times, at 21.60 s and 25.30 s: it was delivered 2 times, as at-least-once delivery allows {'at': 25.3, 'messageId': 'm-4', 'times': 3}",
        "kills GOLD: m-5 was reported 2 times, at 22.60 s and 25.40 s: it was delivered once {'at': 25.4, 'messageId': 'm-5', 'times': 2}",
    ]


@pytest.mark.parametrize("end", ["SIGKILL", "hung", "replaced", "timed out"])
def test_one_line_is_excused_after_each_kind_of_kill(end: str) -> None:
    """A batch on one line counts as the one thing in hand; lines without a number do not make a batch."""
    history = _killed()
    history.lives[0].end = end
    history.told[0] = Statement("m-0", 1.6, 0, line=3)
    history.told[1] = Statement("m-1", 2.6, 0, line=3)
    history.told += [Statement("m-0", 25.0, 1), Statement("m-1", 25.1, 1)]
    assert _told(history, "nothing-twice") == []
    history.told[1] = Statement("m-1", 2.6, 0, line=4)
    assert _told(history, "nothing-twice") == [
        "kills GOLD: m-1 was reported 2 times, at 2.60 s and 25.10 s: the client was started again between {'at': 25.1, 'messageId': 'm-1', 'times': 2}",
    ]
    history.told[0], history.told[1] = Statement("m-0", 1.6, 0), Statement("m-1", 2.6, 0)
    assert len(_told(history, "nothing-twice")) == 1


def test_what_a_kill_lost_or_repeated_is_counted() -> None:
    """What was reported again besides the one in hand, and what was passed over, in the shards that were read on."""
    history = _killed()
    history.told += [Statement(f"m-{at}", 25.0 + at, 1) for at in (0, 2, 4)]
    history.told = [each for each in history.told if each.message_id != "m-5"]
    history.exchanges.append(Read(23.0, 1, "input", _ONE, "j", ()))
    history.sent[5] = OfferedMessage("m-5", "digest 5", Level.GOLD, 22.2)
    assert _judge(history, "resumes-after-a-kill").exposure == 1
    assert _told(history, "resumes-after-a-kill") == [
        "kills GOLD: 2 messages were reported again after the kill at 22.00 s, besides one {'at': 22.0, 'messageIds': ['m-2', 'm-4']}",
        "kills GOLD: 1 messages were skipped over the kill at 22.00 s {'at': 22.0, 'messageIds': ['m-5']}",
    ]


def test_a_last_kill_is_no_opportunity() -> None:
    """A client that was not started again could not resume."""
    history = _killed()
    history.lives[1].end = "SIGKILL"
    assert _judge(history, "resumes-after-a-kill").exposure == 1


def test_a_body_that_was_altered_is_told_with_both_digests() -> None:
    """What the client tells no digest of, or what the kit did not send, is not looked at."""
    history = _history()
    history.told = [
        Statement("m-0", 1.6, 0, "digest 0"),
        Statement("m-1", 2.6, 0, "other"),
        Statement("m-2", 11.6, 0),
        Statement("unknown", 11.6, 0, "other"),
    ]
    assert _judge(history, "bodies-unaltered").exposure == 2
    assert _judge(history, "bodies-unaltered").reason == "not-observable"
    assert _told(history, "bodies-unaltered") == [
        "plain BRONZE: the body of m-1 has the SHA-256 other, and was sent with digest 1 {'at': 2.0, 'messageId': 'm-1'}",
    ]


def test_a_shard_that_was_not_read_is_told_with_what_lies_there() -> None:
    """Never read, not to its end, or only by a later start; what was never read comes first."""
    history = _history()
    history.lives = [Life(0, 0.0, 19.5, "SIGTERM", 0), Life(1, 19.6, 29.5, "SIGTERM", 0)]
    history.ends[2] = StageEnd(29.0, "kills", 1)
    history.exchanges = [each for each in history.exchanges if each.shard == _ONE][:2]
    history.shards.append(FinalShard(_THREE, (_ONE, _TWO), (("9", "m-2"),)))
    history.shards.insert(0, FinalShard("empty", (), ()))
    history.put_at[_THREE, "9"] = 12.0
    history.exchanges.append(Read(26.0, 1, "input", _THREE, "k", (Delivery("9", "m-2"),)))
    history.reshards = [ShardChange(10.5, "merge", (_ONE, _TWO), (_THREE,), 2, Level.SILVER)]
    assert _judge(history, "every-shard-read").exposure == 1
    assert _told(history, "every-shard-read") == [
        "plain BRONZE: shardId-000000000001 was never read: 3 of its 3 records were not delivered {'shard': 'shardId-000000000001', 'unread': 3, 'records': 3, 'messageIds': ['m-1', 'm-3', 'm-5']}",
        "split SILVER: shardId-000000000002, made by a merge of shardId-000000000000 and shardId-000000000001, was never read: 1 of its 1 records were not delivered until the client was started again {'shard': 'shardId-000000000002', 'unread': 1, 'records': 1, 'messageIds': ['m-2']}",
        "kills GOLD: shardId-000000000000 was not read to its end: 1 of its 3 records were not delivered {'shard': 'shardId-000000000000', 'unread': 1, 'records': 3, 'messageIds': ['m-4']}",
    ]


def test_a_child_before_its_parent_is_told_with_both() -> None:
    """A parent's record that came after the child's first; a child of parents that were read counts for nothing."""
    history = _history()
    history.shards.append(FinalShard(_THREE, (_ONE, _TWO), (("9", "m-9"), ("10", "m-10"))))
    history.exchanges.insert(3, Read(11.8, 0, "input", _THREE, "k", (Delivery("9", "m-9"),)))
    history.exchanges.append(
        Read(30.0, 0, "input", _THREE, "k", (Delivery("9", "m-9"), Delivery("10", "m-10")))
    )
    history.reshards = [
        ShardChange(10.5, "merge", (_ONE, _TWO), (_THREE,), 2, Level.SILVER),
        ShardChange(10.6, "merge", (_ONE, _TWO), (_THREE,), 0, Level.SILVER),
        ShardChange(10.7, "split", (_ONE,), ("elsewhere",), 2, Level.SILVER),
    ]
    assert _judge(history, "parents-before-children").exposure == 1
    assert _told(history, "parents-before-children") == [
        "split SILVER: shardId-000000000002 was read at 11.80 s, when its parent shardId-000000000000 still had unread records {'child': 'shardId-000000000002', 'parent': 'shardId-000000000000', 'at': 11.8}",
        "split SILVER: shardId-000000000002 was read at 11.80 s, when its parent shardId-000000000001 still had unread records {'child': 'shardId-000000000002', 'parent': 'shardId-000000000001', 'at': 11.8}",
    ]


@pytest.mark.parametrize(
    ("clause", "error"),
    [
        ("survives-errors", "InternalFailure"),
        ("survives-errors", "InternalFailureException"),
        ("survives-errors", "disconnect"),
        ("survives-throttling", "ProvisionedThroughputExceededException"),
        ("survives-throttling", "LimitExceededException"),
        ("survives-expired-iterators", "ExpiredIteratorException"),
    ],
)
def test_a_failed_read_has_to_be_made_again(clause: str, error: str) -> None:
    """By the same start, in the same shard, before the stage ends, and from where it failed."""
    history = _history()
    history.exchanges.insert(2, Read(11.2, 0, "input", _ONE, "i", error=error))
    history.exchanges.insert(4, Read(11.9, 0, "input", _TWO, "i", error="AccessDeniedException"))
    assert _judge(history, clause).exposure == 1
    history.exchanges = history.exchanges[:3]
    history.exchanges.append(Read(25.0, 1, "input", _ONE, "j", ()))
    assert _judge(history, clause).exposure == 1
    (said,) = _told(history, clause)
    assert (
        f"shardId-000000000000 was not read again after {error} at 11.20 s: 1 of its records were not" in said
    )
    assert "until the client was started again {'at': 11.2, 'shard': 'shardId-000000000000'}" in said


def test_what_a_failed_read_passed_over_is_counted() -> None:
    """A client that reads on in the shard, behind the records of the failed read, has lost them."""
    history = _history()
    history.exchanges[2:3] = [Read(11.2, 0, "input", _ONE, "i", error="InternalFailure")]
    assert _told(history, "survives-errors") == [
        "split SILVER: shardId-000000000000 was read on past what lay there after InternalFailure at 11.20 s: 1 of its records were not delivered {'at': 11.2, 'shard': 'shardId-000000000000'}",
    ]


def test_an_expired_iterator_is_not_used_again() -> None:
    """Nor answered with one at LATEST or TRIM_HORIZON by a client that had records of the shard."""
    history = _history()
    expired = Read(11.2, 0, "input", _ONE, "i", error="ExpiredIteratorException")
    history.exchanges[2:2] = [expired, IteratorRequest(11.3, 0, "input", _ONE, "LATEST")]
    history.exchanges[4] = Read(11.5, 0, "input", _ONE, "k", (Delivery("2", "m-2"),))
    history.exchanges[6] = Read(21.5, 0, "input", _ONE, "k", (Delivery("4", "m-4"),))
    assert _told(history, "survives-expired-iterators") == [
        "split SILVER: an iterator of shardId-000000000000 expired; the shard was read from LATEST, past what had not been read {'at': 11.2, 'shard': 'shardId-000000000000'}",
    ]
    history.exchanges[3] = IteratorRequest(11.3, 0, "input", _ONE, "AFTER_SEQUENCE_NUMBER", "0")
    assert _told(history, "survives-expired-iterators") == []
    history.exchanges[4] = Read(11.5, 0, "input", _ONE, "i", (Delivery("2", "m-2"),))
    assert _told(history, "survives-expired-iterators") == [
        "split SILVER: an iterator of shardId-000000000000 expired; it was used 1 time more {'at': 11.2, 'shard': 'shardId-000000000000'}",
    ]


def test_what_is_pushed_has_no_iterator_that_expires() -> None:
    """A client that only subscribes never uses what the clause is about; one that reads nothing was not tried."""
    history = _history()
    assert _judge(history, "survives-expired-iterators").reason == "stimulus-never-landed"
    history.exchanges = [Read(1.0, 0, "input", _ONE, pushed=True)]
    assert _judge(history, "survives-expired-iterators").reason == "feature-never-used"
    history.exchanges = []
    assert _judge(history, "survives-expired-iterators").reason == "stimulus-never-landed"


def test_reads_that_follow_too_quickly_are_told_with_their_pace() -> None:
    """Thirteen reads within two seconds; refused and pushed ones are not the client's haste, and empty ones explain it."""
    history = _history()
    history.exchanges = [Read(11.0 + at / 8, 0, "input", _ONE, "i", (), at == 3) for at in range(13)]
    history.exchanges += [Read(5.0, 0, "input", _ONE, pushed=True)] * 3
    history.exchanges += [Read(11.0 + at / 8, 0, "input", _TWO, error="disconnect") for at in range(9)]
    history.exchanges += [Read(11.0 + at / 2, 1, "input", _ONE) for at in range(9)]
    assert _judge(history, "reads-within-limits").exposure == 25
    assert _told(history, "reads-within-limits") == [
        "split SILVER: shardId-000000000000 was read 13 times in 1.50 s, from 11.00 s on; five a second are allowed. 12 of these answers were empty {'at': 11.0, 'shard': 'shardId-000000000000'}",
    ]


def test_a_sequence_that_was_not_joined_is_told_with_its_parts() -> None:
    """Told by no part, by two, or with another body; one without a digest is taken at its word."""
    history = _history()
    history.sequences = [SentSequence((f"{name}-1", f"{name}-2"), "whole", 1.0) for name in "abcd"]
    history.told += [
        Statement("a-1", 3.0, 0, "whole"),
        Statement("b-2", 3.0, 0, "half"),
        Statement("c-1", 3.0, 0),
        Statement("c-2", 3.0, 0),
    ]
    assert _judge(history, "joins-sequences").exposure == 4
    assert _told(history, "joins-sequences") == [
        "- GOLD: the body of a sequence of 2 parts was not joined as it was cut {'messageId': 'b-1'}",
        "- GOLD: a sequence of 2 parts was reported 2 times {'messageId': 'c-1'}",
        "- GOLD: a sequence of 2 parts was reported 0 times {'messageId': 'd-1'}",
    ]


def test_an_older_version_is_told_with_where_it_went() -> None:
    """Processed is right; else the queue and the code are told, or that there are none."""
    history = _history()
    history.older = [SentOlder(name, "3.0.1", 21.0) for name in ("m-0", "x", "y", "z")]
    history.errors = [KeptRecord("x", b'{"messageHeader": {"messageId": "x", "errorCode": "GENERR002"}}')]
    history.invalid = [KeptRecord("y", b'{"messageHeader": {"messageId": "y"}}')]
    assert _told(history, "knows-older-versions") == [
        "- GOLD: a message of version 3.0.1 was not processed, and is in error with GENERR002 {'messageId': 'x'}",
        "- GOLD: a message of version 3.0.1 was not processed, and is in invalid with no errorCode {'messageId': 'y'}",
        "- GOLD: a message of version 3.0.1 was not processed, and is in no queue {'messageId': 'z'}",
    ]


def test_a_bad_message_is_told_with_where_it_went() -> None:
    """Processed, nowhere, in the other queue, without a code: each has its words; expired ones have a clause of their own."""
    history = _history()
    names = ("m-0", "right", "nowhere", "wrong", "bare")
    history.bad = [SentBad(name, "GENERR001", "invalid", 21.0) for name in names]
    history.bad.append(SentBad("late", "GENERR003", "error", 21.0))
    header = '{"messageHeader": {"messageId": "%s", "errorCode": "%s"}}'
    history.invalid = [KeptRecord("right", (header % ("right", "GENERR001")).encode())]
    history.errors = [
        KeptRecord("wrong", (header % ("wrong", "GENERR002")).encode()),
        KeptRecord("bare", b'{"messageHeader": {"messageId": "bare"}}'),
    ]
    assert _judge(history, "rejects-with-the-right-code").exposure == 5
    assert _told(history, "rejects-with-the-right-code") == [
        "plain GOLD: a message that deserves GENERR001 was processed {'messageId': 'm-0'}",
        "- GOLD: a message that deserves GENERR001 is in no queue {'messageId': 'nowhere'}",
        "- GOLD: a message that deserves GENERR001 in invalid is in error with GENERR002 {'messageId': 'wrong'}",
        "- GOLD: a message that deserves GENERR001 in invalid is in error with no errorCode {'messageId': 'bare'}",
    ]
    assert _judge(history, "refuses-expired").exposure == 1
    assert _told(history, "refuses-expired") == [
        "- GOLD: a message that deserves GENERR003 is in no queue {'messageId': 'late'}",
    ]


@pytest.mark.parametrize("stage", ["bad messages", "expired messages"])
def test_a_bad_message_that_stops_the_client_is_told(stage: str) -> None:
    """What was sent behind the first bad one and not processed, and an end of the client in these stages."""
    history = _history()
    assert _judge(history, "poison-stops-nothing").exposure == 0
    history.bad = [SentBad("b", "GENERR001", "invalid", 21.5), SentBad("a", "GENERR001", "invalid", 12.0)]
    history.told = [each for each in history.told if each.message_id not in {"m-0", "m-4"}]
    history.lives = [Life(0, 0.0, 23.0, "itself", 3, stage), Life(1, 23.0, 24.0, "SIGTERM", 0, stage)]
    assert _judge(history, "poison-stops-nothing").exposure == 3
    assert _told(history, "poison-stops-nothing") == [
        "kills GOLD: m-4, sent behind a bad message, was not processed {'at': 21.0, 'messageId': 'm-4'}",
        "kills GOLD: the consumer ended by itself with exit code 3 {'at': 23.0}",
    ]
    history.lives = [Life(0, 0.0, 23.0, "itself", 3, "plain")]
    assert len(_told(history, "poison-stops-nothing")) == 1


def test_an_echo_is_told_with_where_it_came_from() -> None:
    """Processed, or put on a queue, after it came back; what was done before that is the original."""
    history = _history()
    history.returned = [Returned(f"m-{at}", "output", 0.5) for at in range(3)]
    history.returned.append(Returned("m-4", "output", 21.6))
    history.told = [Statement("m-0", 0.4, 0), Statement("m-0", 1.6, 0), Statement("m-2", 0.5, 0)]
    entry = PutEntry("m-1", "", 1, "m-1")
    history.exchanges += [
        Put(0.3, 0.5, 0, "error", (entry,)),
        Put(2.0, 2.1, 0, "invalid", (PutEntry("other", "", 1, ""), entry)),
        Put(2.0, 2.1, 0, "input", (PutEntry("m-2", "", 1, ""),)),
    ]
    assert _judge(history, "drops-its-own-echo").exposure == 3
    assert _told(history, "drops-its-own-echo") == [
        "plain GOLD: m-0, which the consumer put on output, came back and was processed {'messageId': 'm-0'}",
        "plain GOLD: m-1, which the consumer put on output, came back and was put on invalid {'messageId': 'm-1'}",
    ]


def test_an_early_end_is_told_once_for_all_starts_that_ended_alike() -> None:
    """With the stage, the code, the first start's number, how often, and the last five lines."""
    history = _history()
    lines = tuple(f"line {at}" for at in range(7))
    history.lives = [
        Life(0, 0.0, 1.0, "itself", 3, "plain", "nothing-lost", Level.SILVER, lines),
        Life(1, 1.0, 2.0, "itself", 3, "plain", "nothing-lost", Level.SILVER, ("line 6",)),
        Life(2, 2.0, 3.0, "itself", 0, "plain", "nothing-lost"),
        Life(3, 3.0, 4.0, "itself", 3, "plain", "nothing-twice"),
        Life(4, 4.0, 5.0, "SIGTERM", 3, "plain", "nothing-lost"),
    ]
    found = _judge(history, "nothing-lost").findings
    assert [
        (each.said, int(each.level), each.facts, each.stage, each.times, each.output) for each in found
    ] == [
        (
            "the consumer ended by itself with exit code 3 during the stage plain",
            2,
            {"start": 1},
            "plain",
            2,
            ("line 2", "line 3", "line 4", "line 5", "line 6"),
        ),
        (
            "the consumer ended by itself with exit code 0 during the stage plain",
            1,
            {"start": 3},
            "plain",
            1,
            (),
        ),
    ]


def test_a_client_that_tells_nothing_is_not_judged() -> None:
    """Of five messages it has told of none: that is said, with how it ended."""
    history = _history()
    history.told = []
    history.lives = [Life(0, 0.0, 1.0, "itself", 1, "plain", "nothing-lost")]
    judgement = _judge(history, "nothing-lost")
    assert (judgement.exposure, judgement.reason, len(judgement.findings)) == (0, "nothing-told", 1)
    history.exchanges = history.exchanges[:4]
    assert _judge(history, "nothing-lost").exposure == 6
