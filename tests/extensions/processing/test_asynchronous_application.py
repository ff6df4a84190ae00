"""Applications whose work is done later: nothing lost, nothing twice, and told when it is given up."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest

from emulator.events import Events
from extensions.processing.asynchronous_application import Asynchronous
from extensions.processing.stored_messages import Search
from sandbox.applications import InstitutionalRepository
from sandbox.applications.application_run import run_application
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import Application, Arrival
from sandbox.repository import Repository
from tests.sandbox.applications.application_streams import Running, Streams

Fault = Callable[[Arrival], None]


class Works:
    """An institutional repository that ``fault`` may keep from its work."""

    def __init__(self, inner: InstitutionalRepository, fault: Fault) -> None:
        self.inner = inner
        self.fault = fault
        self.tried = 0

    def __call__(self, arrival: Arrival, store: sqlite3.Connection, /) -> None:
        self.tried += 1
        self.inner(arrival, store)
        self.fault(arrival)


class Platform:
    """A repository behind asynchronous processing."""

    def __init__(self, streams: Streams) -> None:
        self.streams = streams
        self.works: Works
        self.later: Asynchronous
        self.running: Running = streams.open(self._make)
        self.later.reject = self.running.receiver.reject

    def _make(self, repository: Repository, outbox: Outbox) -> Application:
        inner = InstitutionalRepository(repository, outbox, self.streams.clock)
        self.works = Works(inner, lambda _: None)
        events = Events(self.streams.clock)
        store = self.streams.folder / "processing.sqlite3"
        self.later = Asynchronous(store, repository, self.works, self.streams.clock, events)
        self.streams.stack.callback(self.later.close)
        return self.later

    def run(self) -> None:
        """Receive and work until nothing is left to do."""
        run = self.running
        run_application(
            run.receiver,
            run.outbox,
            run.repository,
            lambda _: None,
            lambda: not self.later.unfinished,
            work=self.later.work,
            wait=10,
        )

    def states(self) -> list[str]:
        return [each.state for each in reversed(self.later.administration.search(Search()))]


@pytest.fixture
def platform(streams: Streams) -> Platform:
    return Platform(streams)


def test_what_arrives_is_acknowledged_before_it_is_worked_on(streams: Streams, platform: Platform) -> None:
    """The receiver is done with it, and nothing has happened to the work; then it has."""
    message = streams.create()
    streams.put(message)
    assert platform.running.receiver.step(wait=0) == 1
    assert (platform.works.tried, platform.states()) == (0, ["IN_QUEUE"])
    assert platform.later.work() == 1
    assert list(platform.works.inner.visible()) == [message["messageBody"]["objectUUID"]]
    assert platform.states() == ["OK"]


def test_what_fails_for_a_while_is_done_in_the_end(streams: Streams, platform: Platform) -> None:
    """Two attempts fail and leave nothing behind; the third, minutes later, succeeds."""

    def twice(_: Arrival) -> None:
        if platform.works.tried < 3:
            raise OSError("the disk is away")

    platform.works.fault = twice
    streams.put(streams.create())
    began = streams.clock.time()
    platform.run()
    assert (platform.works.tried, platform.states(), streams.errors()) == (3, ["OK"], [])
    assert len(platform.works.inner.visible()) == 1
    assert streams.clock.time() - began > 120


def test_an_update_that_overtook_its_create_waits_for_it(streams: Streams, platform: Platform) -> None:
    """At once it would be refused, for there is no such object; a minute later there is."""
    first = streams.create()
    second = streams.update(first["messageBody"]["objectUUID"])
    streams.put(second, first)
    platform.run()
    assert streams.errors() == []
    assert list(platform.works.inner.visible()) == [second["messageBody"]["objectUUID"]]


def test_what_fails_for_good_goes_to_the_queue_of_its_code(streams: Streams, platform: Platform) -> None:
    """After four attempts, decorated with the code and the reason of the last."""
    streams.put(streams.update("6b0f8a1c-5d0e-4a7b-9a56-0c2f4be0e4d1"))
    platform.run()
    assert (platform.works.tried, platform.states()) == (4, ["FAILED"])
    (rejected,) = streams.on("invalid")
    header = rejected["messageHeader"]
    assert header["errorCode"] == "APPERRMET001"
    assert "there is no object" in header["errorDescription"]


def test_work_that_was_done_but_not_written_down_is_not_done_again(
    streams: Streams, platform: Platform
) -> None:
    """The process ends between the two: the next attempt finds the work done."""

    streams.put(streams.create())
    platform.running.receiver.step(wait=0)
    (message,) = platform.later.administration.search(Search())
    platform.later._call("application", message.body)
    platform.run()
    assert (platform.works.tried, platform.states()) == (1, ["OK"])


def test_a_message_that_comes_again_is_handed_over_once(streams: Streams, platform: Platform) -> None:
    """Also when the receiver ended before it had committed that it had handed it over."""
    message = streams.create()
    streams.put(message)
    platform.running.receiver.step(wait=0)
    with platform.running.repository.transaction() as store:
        store.execute("DELETE FROM messages")
    streams.put(message)
    platform.run()
    assert (platform.works.tried, platform.states(), streams.errors()) == (1, ["OK"], [])


def test_a_process_goes_on_where_another_left_off(
    streams: Streams, platform: Platform, tmp_path: Path
) -> None:
    """What was handed over and not worked on is worked on by the next."""
    streams.put(streams.create(), streams.create())
    platform.running.receiver.step(wait=0)
    platform.later.close()
    assert (streams.folder / "processing.sqlite3").exists()
    next_one = Asynchronous(
        streams.folder / "processing.sqlite3",
        platform.running.repository,
        platform.works,
        streams.clock,
        Events(streams.clock),
    )
    streams.clock.advance(121)
    assert next_one.work() == 2
    assert len(platform.works.inner.visible()) == 2
    next_one.close()
