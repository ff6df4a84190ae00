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
from tests.sandbox.applications.application_streams import Running, Town

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


class Site:
    """A repository behind asynchronous processing."""

    def __init__(self, town: Town) -> None:
        self.town = town
        self.works: Works
        self.later: Asynchronous
        self.running: Running = town.open(self._make)
        self.later.reject = self.running.receiver.reject

    def _make(self, repository: Repository, outbox: Outbox) -> Application:
        inner = InstitutionalRepository(repository, outbox, self.town.clock)
        self.works = Works(inner, lambda _: None)
        events = Events(self.town.clock)
        store = self.town.folder / "processing.sqlite3"
        self.later = Asynchronous(store, repository, self.works, self.town.clock, events)
        self.town.stack.callback(self.later.close)
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
def site(town: Town) -> Site:
    return Site(town)


def test_what_arrives_is_acknowledged_before_it_is_worked_on(town: Town, site: Site) -> None:
    """The receiver is done with it, and nothing has happened to the work; then it has."""
    message = town.create()
    town.put(message)
    assert site.running.receiver.step(wait=0) == 1
    assert (site.works.tried, site.states()) == (0, ["IN_QUEUE"])
    assert site.later.work() == 1
    assert list(site.works.inner.visible()) == [message["messageBody"]["objectUUID"]]
    assert site.states() == ["OK"]


def test_what_fails_for_a_while_is_done_in_the_end(town: Town, site: Site) -> None:
    """Two attempts fail and leave nothing behind; the third, minutes later, succeeds."""

    def twice(_: Arrival) -> None:
        if site.works.tried < 3:
            raise OSError("the disk is away")

    site.works.fault = twice
    town.put(town.create())
    began = town.clock.time()
    site.run()
    assert (site.works.tried, site.states(), town.errors()) == (3, ["OK"], [])
    assert len(site.works.inner.visible()) == 1
    assert town.clock.time() - began > 120


def test_an_update_that_overtook_its_create_waits_for_it(town: Town, site: Site) -> None:
    """At once it would be refused, for there is no such object; a minute later there is."""
    first = town.create()
    second = town.update(first["messageBody"]["objectUUID"])
    town.put(second, first)
    site.run()
    assert town.errors() == []
    assert list(site.works.inner.visible()) == [second["messageBody"]["objectUUID"]]


def test_what_fails_for_good_goes_to_the_queue_of_its_code(town: Town, site: Site) -> None:
    """After four attempts, decorated with the code and the reason of the last."""
    town.put(town.update("6b0f8a1c-5d0e-4a7b-9a56-0c2f4be0e4d1"))
    site.run()
    assert (site.works.tried, site.states()) == (4, ["FAILED"])
    (rejected,) = town.on("invalid")
    header = rejected["messageHeader"]
    assert header["errorCode"] == "APPERRMET001"
    assert "there is no object" in header["errorDescription"]


def test_work_that_was_done_but_not_written_down_is_not_done_again(town: Town, site: Site) -> None:
    """The process ends between the two: the next attempt finds the work done."""

    town.put(town.create())
    site.running.receiver.step(wait=0)
    (message,) = site.later.administration.search(Search())
    site.later._call("application", message.body)
    site.run()
    assert (site.works.tried, site.states()) == (1, ["OK"])


def test_a_message_that_comes_again_is_handed_over_once(town: Town, site: Site) -> None:
    """Also when the receiver ended before it had committed that it had handed it over."""
    message = town.create()
    town.put(message)
    site.running.receiver.step(wait=0)
    with site.running.repository.transaction() as store:
        store.execute("DELETE FROM messages")
    town.put(message)
    site.run()
    assert (site.works.tried, site.states(), town.errors()) == (1, ["OK"], [])


def test_a_process_goes_on_where_another_left_off(town: Town, site: Site, tmp_path: Path) -> None:
    """What was handed over and not worked on is worked on by the next."""
    town.put(town.create(), town.create())
    site.running.receiver.step(wait=0)
    site.later.close()
    assert (town.folder / "processing.sqlite3").exists()
    next_one = Asynchronous(
        town.folder / "processing.sqlite3",
        site.running.repository,
        site.works,
        town.clock,
        Events(town.clock),
    )
    town.clock.advance(121)
    assert next_one.work() == 2
    assert len(site.works.inner.visible()) == 2
    next_one.close()
