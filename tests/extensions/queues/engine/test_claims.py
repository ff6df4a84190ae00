"""Claims as a worker has them."""

from __future__ import annotations

import threading

import pytest

from emulator.events import Event
from extensions.queues.engine import Address
from extensions.queues.engine.queue_errors import BadValueError, ClaimNotThereError
from tests.extensions.queues.engine.conftest import NOON, QUEUE, Room
from tests.waiting import wait_until


def test_a_claim_and_what_it_held_are_told_of_when_it_expires(queues: Room) -> None:
    """The event names the claim, the worker and the messages; the messages are free then, not before."""
    ids = queues.post(b"1", b"2")
    held = queues.claim(2, ttl=60)
    queues.clock.advance(59.999)
    assert queues.claimed() == []
    queues.clock.advance(0.001)
    queues.engine.end_expired()
    event = queues.told("claim_expired")[0]
    assert (event.fields["claim"], event.fields["client"], event.fields["messages"]) == (
        held.claim.id, "worker", ids,
    )  # fmt: skip
    assert queues.claimed(2) == ids


def test_a_watched_engine_ends_claims_though_nobody_asks(queues: Room) -> None:
    """The clock moves, and the event comes by itself."""
    queues.post(b"1")
    queues.claim(ttl=60)
    queues.engine.watch()
    queues.clock.advance(60)
    assert len(wait_until(lambda: queues.told("claim_expired"))) == 1


def test_a_message_lives_14_days_at_most_however_often_it_is_claimed(queues: Room) -> None:
    """A worker that renews its claim again and again does not keep a message for ever."""
    queues.post(b"1", ttl=60)
    held = queues.claim(ttl=43_200, grace=43_200)
    for _ in range(28):
        queues.clock.advance(43_000)
        queues.engine.claims.renew(QUEUE, held.claim.id, ttl=43_200, grace=43_200)
    queues.clock.advance(1_209_600 - 28 * 43_000 - 1)
    assert len(queues.engine.claims.get(QUEUE, held.claim.id).messages) == 1
    queues.clock.advance(1)
    assert queues.engine.claims.get(QUEUE, held.claim.id).messages == []
    assert len(queues.told("message_expired")) == 1


def test_a_claim_can_be_ended_as_if_its_time_were_over(queues: Room) -> None:
    """For a worker that is too slow on purpose: the event is that of the clock."""
    queues.post(b"1")
    held = queues.claim()
    assert queues.engine.claims.expire(QUEUE, held.claim.id)
    assert [event.fields["claim"] for event in queues.told("claim_expired")] == [held.claim.id]
    with pytest.raises(ClaimNotThereError):
        queues.engine.claims.get(QUEUE, held.claim.id)


def test_who_holds_what_can_be_listed(queues: Room) -> None:
    """Claims with their workers and what is left of their time; those that are empty are left out."""
    ids = queues.post(b"1", b"2", b"3")
    anna, ben = queues.claim(client="anna", ttl=100), queues.claim(2, client="ben", ttl=200)
    queues.engine.messages.delete(QUEUE, ids[0], anna.claim.id)
    queues.clock.advance(30)
    held = queues.engine.claims.list_holding(QUEUE)
    assert [(h.claim.client, h.claim.ends - queues.engine.now(), len(h.messages)) for h in held] == [
        ("ben", 170, 2)
    ]
    assert queues.engine.claims.get(QUEUE, ben.claim.id) == held[0]


def test_dead_letters_keep_their_ids_and_begin_with_no_claims(queues: Room) -> None:
    """A message that was claimed as often as allowed is found under its id in the other queue."""
    metadata = {"_max_claim_count": 2, "_dead_letter_queue": "dead", "_dead_letter_queue_messages_ttl": 90}
    queues.engine.queues.create(QUEUE, metadata)
    (id_,) = queues.post(b'"x"')
    for _ in range(2):
        queues.engine.claims.release(QUEUE, queues.claim().claim.id)
    assert queues.claim() is None
    found = queues.engine.messages.get(Address("project", "dead"), id_)
    assert (found.message.body, found.message.ttl, found.message.claims) == (b'"x"', 90, 0)
    assert queues.told("dead_lettered")[0].fields["to"] == "dead"
    queues.restart()
    assert queues.engine.messages.get(Address("project", "dead"), id_).message == found.message


def test_very_many_finished_claims_are_not_kept_for_ever(queues: Room) -> None:
    """A thousand are there to be looked at until they expire; the oldest of more are forgotten."""
    first = None
    for _ in range(1002):
        (id_,) = queues.post(b"1")
        held = queues.claim()
        first = first or held.claim.id
        queues.engine.messages.delete(QUEUE, id_, held.claim.id)
    assert queues.engine.claims.get(QUEUE, held.claim.id).messages == []
    with pytest.raises(ClaimNotThereError):
        queues.engine.claims.get(QUEUE, first)


@pytest.mark.parametrize(
    "wrong", [{"ttl": 59}, {"ttl": 43_201}, {"grace": 59}, {"grace": 43_201}, {"limit": 0}, {"limit": 21}]
)
def test_what_is_out_of_bounds_claims_nothing(queues: Room, wrong: dict[str, int]) -> None:
    """Every transport is held to the same bounds, by the engine."""
    queues.post(b"1")
    with pytest.raises(BadValueError):
        queues.claim(**wrong)
    assert len(queues.claimed(20)) == 1


def test_a_full_disk_does_not_end_the_watch(queues: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """An event that cannot be written leaves the next one to be told."""
    emit, refused = queues.events.emit, threading.Event()

    def full_once(kind: str, **fields: object) -> object:
        if kind == "queue.claim_expired" and not refused.is_set():
            refused.set()
            raise OSError("no space left on device")
        return emit(kind, **fields)

    queues.post(b"1", b"2")
    queues.claim(ttl=60)
    queues.claim(ttl=120)
    monkeypatch.setattr(queues.events, "emit", full_once)
    queues.engine.watch()
    queues.clock.advance(60)
    assert refused.wait(60)

    def told_later() -> list[Event]:
        queues.clock.advance(60)
        return queues.told("claim_expired")

    assert len(wait_until(told_later)) == 1


def test_a_clock_that_was_set_back_delays_nothing(queues: Room) -> None:
    """What was posted without a delay is free, in a list and for a claim, also after a restart."""
    queues.clock.advance(3600)
    first, second = queues.post(b"1", b"2")
    queues.clock.set_time(NOON)
    assert [found.message.id for found in queues.engine.messages.page(QUEUE)] == [first, second]
    assert queues.claimed() == [first]
    queues.restart()
    assert queues.claimed() == [second]


def test_what_is_counted_as_free_can_be_claimed(queues: Room) -> None:
    """A message that is delayed is neither held nor free yet."""
    queues.post(b"1", b"2")
    queues.post(b"3", delay=30)
    queues.claim()
    (overview,) = queues.engine.queues.overview()
    assert (overview.stats.total, overview.stats.claimed, overview.delayed, overview.free) == (3, 1, 1, 1)
    queues.clock.advance(30)
    (overview,) = queues.engine.queues.overview()
    assert (overview.delayed, overview.free) == (0, 2)
    assert len(queues.claimed(limit=20)) == 2
