"""What the screen counts: a message in the stage that sent it, and no loss before that stage is over."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rdss_sandbox.shapes.trace import Put, PutEntry
from sandbox.certify.clause import Role
from sandbox.certify.history import (
    History,
    Injected,
    KeptRecord,
    Level,
    Life,
    OfferedMessage,
    SentBad,
    SentOlder,
    SentSequence,
    ShardChange,
    Statement,
)
from sandbox.certify.stages import CONSUMER, PRODUCER, QUIET, Stage
from sandbox.learn.stage_counts import StageCount, count_stages

BRONZE = Level.BRONZE
SECOND = next(each for each in CONSUMER if each.name == "restart")


def history() -> History:
    """A run that enters the quiet stage twice, as runs do, and the second one at 10 s."""
    found = History("input", 0.0)
    found.stages += [(0.0, QUIET.name, BRONZE), (0.1, QUIET.name, BRONZE), (10.0, SECOND.name, BRONZE)]
    return found


def counts(found: History, *, over: bool = True) -> dict[str, StageCount]:
    return {each.stage: each for each in count_stages(Role.CONSUMER, found, (QUIET, SECOND), over=over)}


def sent(*names: str, at: float) -> list[OfferedMessage]:
    return [OfferedMessage(name, "", BRONZE, at) for name in names]


def told(*names: str, at: float, life: int = 0) -> list[Statement]:
    return [Statement(name, at, life) for name in names]


def test_a_message_counts_where_it_was_sent() -> None:
    """One of the quiet day that is told only later is not lost, and belongs to the quiet day."""
    found = history()
    found.sent += [*sent("a", "b", at=1.0), *sent("c", "d", at=11.0)]
    found.told += [*told("a", at=2.0), *told("b", "c", at=12.0)]

    quiet, second = counts(found).values()

    assert (quiet.sent, quiet.processed, quiet.lost, quiet.twice) == (2, 2, 0, 0)
    assert (second.sent, second.processed, second.lost) == (2, 1, 1)


def test_a_loss_is_counted_when_its_stage_is_over() -> None:
    """Until then the message may still come."""
    found = history()
    found.sent += [*sent("a", at=1.0), *sent("b", at=11.0)]

    assert [each.lost for each in counts(found, over=False).values()] == [1, None]
    assert [each.lost for each in counts(found).values()] == [1, 1]


def test_what_is_told_again_counts_when_it_is_told_again() -> None:
    """A restart that processes the quiet day's messages once more shows in the line of the restart."""
    found = history()
    found.sent += sent("a", "b", at=1.0)
    found.lives += [Life(0, 0.0), Life(1, 11.0)]
    found.told += [*told("a", "b", at=2.0), *told("a", "b", at=12.0, life=1)]

    assert [each.twice for each in counts(found).values()] == [0, 2]


def test_sequences_and_older_messages_are_messages() -> None:
    """A sequence is one message; told for each of its parts it is told too often."""
    found = history()
    found.sequences += [SentSequence(("p1", "p2"), "", 11.0), SentSequence(("q1", "q2"), "", 11.0)]
    found.older += [SentOlder("old", "3.0.0", 11.0)]
    found.told += told("p1", "q1", "q2", at=12.0)

    second = counts(found)[SECOND.name]

    assert (second.sent, second.processed, second.lost, second.twice) == (3, 2, 1, 1)


def test_a_bad_message_is_rejected_on_its_own_queue() -> None:
    """On the other queue, or in a call that was refused, it is not."""
    found = history()
    found.bad += [SentBad(name, "GENERR001", "invalid", 11.0) for name in ("a", "b", "c")]
    for stream, name, error in (
        ("invalid", "a", ""),
        ("error", "b", ""),
        ("invalid", "c", "InternalFailure"),
    ):
        found.exchanges.append(Put(12.0, 12.0, 0, stream, (PutEntry(name, "", 1, "k"),), error=error))

    assert (counts(found)[SECOND.name].bad, counts(found)[SECOND.name].rejected) == (3, 1)


def test_what_happened_is_counted_without_the_end_of_the_check() -> None:
    """Faults, reshards and deaths; the last SIGTERM ends the check, and is none of the lesson's."""
    found = history()
    found.injected += [Injected(11.0, "throttle", "a", BRONZE)] * 2
    found.reshards += [ShardChange(12.0, "split", ("s",), ("t", "u"), 0, BRONZE)]
    found.lives += [
        Life(number, 0.0, 1.0, end=end, stage=SECOND.name)
        for number, end in enumerate(("SIGTERM", "SIGKILL", "SIGTERM"))
    ]

    assert counts(found)[SECOND.name].happened == {"throttle": 2, "split": 1, "restarted": 1, "killed": 1}
    assert counts(found)[QUIET.name].happened == {}


def test_a_producers_file_is_counted_stage_by_stage() -> None:
    """Each stage has as many messages as it brings; what is in the stream came by an accepted entry."""
    throttling = next(each for each in PRODUCER if each.name == "throttling")
    planned = (Stage("quiet", BRONZE, QUIET.group, "nothing-lost", 2), throttling)
    names = [str(number) for number in range(2 + throttling.messages)]
    found = History("input", 0.0)
    found.sent += sent(*names, at=0.0)
    entries = tuple(PutEntry(name, "", 1, "k", error="" if name != "5" else "Throttled") for name in names)
    found.exchanges.append(Put(1.0, 1.0, 0, "input", entries, batch=True))
    found.stored += [KeptRecord(name, b"") for name in [*names[:5], *names[6:], names[0]]]

    quiet, second = count_stages(Role.PRODUCER, found, planned, over=True)

    assert (quiet.sent, quiet.processed, quiet.lost, quiet.twice) == (2, 2, 0, 1)
    assert (second.sent, second.processed, second.lost) == (throttling.messages, throttling.messages - 1, 1)


@pytest.mark.parametrize("role", Role)
def test_before_anything_happened_there_is_nothing_to_count(role: Role) -> None:
    """The screen is drawn from the first moment on."""
    assert all(each.sent == 0 for each in count_stages(role, History("input", 0.0), (QUIET,), over=False))


def test_a_run_that_goes_on_while_it_is_counted_is_counted() -> None:
    """The screen is drawn beside the run, which may enter its next stage at any moment."""
    found = history()

    class Growing(list[OfferedMessage]):
        """Is read at the moment at which a stage begins, and a message of it is sent."""

        def __iter__(self) -> Iterator[OfferedMessage]:
            found.stages.append((20.0, "split", BRONZE))
            self.append(OfferedMessage("late", "", BRONZE, 21.0))
            return super().__iter__()

    found.sent = Growing(sent("a", at=1.0))

    assert [each.sent for each in counts(found, over=False).values()] == [1, 1]
