"""A queue that is a view on a channel."""

from __future__ import annotations

import pytest

from extensions.queues.engine import SourceUnavailableError, ViewedMessage
from tests.extensions.queues.engine.conftest import NOON, QUEUE, Room


class Channel:
    """A channel that remembers what it was told."""

    def __init__(self) -> None:
        self.waiting: list[ViewedMessage] = []
        self.done: list[str] = []
        self.down = False
        self._next = 0

    def put(self, *bodies: bytes, ttl: int = 3600) -> list[str]:
        refs = []
        for body in bodies:
            self._next += 1
            refs.append(f"shard-0:{self._next}")
            self.waiting.append(ViewedMessage(refs[-1], body, ttl, NOON - 5))
        return refs

    def fetch_arrivals(self, limit: int) -> list[ViewedMessage]:
        if self.down:
            raise SourceUnavailableError("the channel error does not answer.")
        return self.waiting[:limit]

    def mark_taken(self, arrivals) -> None:
        del self.waiting[: len(arrivals)]

    def publish(self, bodies) -> list[str]:
        return self.put(*bodies)

    def start_over(self) -> None:
        pass

    def mark_gone(self, refs) -> None:
        self.done += refs


@pytest.fixture
def channel(queues: Room) -> Channel:
    found = Channel()
    queues.engine.attach(QUEUE, found)
    return found


def test_messages_of_the_channel_are_claimed_and_done_there(queues: Room, channel: Channel) -> None:
    """They come in order, age from their arrival on, and the channel hears of each that leaves, however."""
    refs = channel.put(b"1", b"2", b"3", b"4")
    held = queues.claim(2)
    assert [(message.body, message.age(NOON)) for message in held.messages] == [(b"1", 5), (b"2", 5)]
    assert channel.done == []
    queues.engine.messages.delete(QUEUE, held.messages[1].id, held.claim.id)
    assert channel.done == [refs[1]]
    queues.engine.messages.pop(QUEUE, 1)
    assert channel.done == [refs[1], refs[2]]
    queues.engine.queues.purge(QUEUE, messages=True, subscriptions=True)
    assert sorted(channel.done) == sorted(refs)


def test_a_message_that_expires_is_done_there(queues: Room, channel: Channel) -> None:
    """The clock ends it in the queue, and the channel hears of it."""
    refs = channel.put(b"1", ttl=65)
    queues.engine.queues.stats(QUEUE)
    queues.clock.advance(60)
    queues.engine.end_expired()
    assert channel.done == refs


def test_a_claim_on_a_view_survives_a_restart(queues: Room, channel: Channel) -> None:
    """The message is held by the same claim, and is not taken from the channel again."""
    channel.put(b"1", b"2")
    held = queues.claim(ttl=600)
    queues.restart()
    queues.engine.attach(QUEUE, channel)
    assert [message.body for message in queues.engine.claims.get(QUEUE, held.claim.id).messages] == [b"1"]
    assert [message.body for message in queues.claim(20).messages] == [b"2"]


def test_what_comes_again_before_it_was_done_is_the_same_message(queues: Room, channel: Channel) -> None:
    """A channel that was not told that a message is taken gives it twice; the queue has it once."""
    channel.put(b"1")
    again = list(channel.waiting)
    assert len(queues.claimed(20)) == 1
    channel.waiting += again
    assert queues.claimed(20) == []


def test_what_is_posted_goes_through_the_channel(queues: Room, channel: Channel) -> None:
    """The ids that the client is given are those of the messages that arrive."""
    ids = queues.post(b'"a"', b'"b"')
    assert [message.id for message in queues.claim(20).messages] == ids
    assert queues.told("messages_arrived")[0].fields["messages"] == ids


def test_a_channel_that_is_down_is_said_so_and_comes_back(queues: Room, channel: Channel) -> None:
    """The operation is refused; nothing is lost meanwhile."""
    channel.put(b"1")
    channel.down = True
    with pytest.raises(SourceUnavailableError, match="error does not answer"):
        queues.claim()
    channel.down = False
    assert len(queues.claimed()) == 1


def test_a_view_is_there_before_anybody_has_used_it(queues: Room, channel: Channel) -> None:
    """The overview shows it, as a view."""
    (row,) = queues.engine.queues.overview()
    assert (row.at, row.view, row.stats.total) == (QUEUE, True, 0)
