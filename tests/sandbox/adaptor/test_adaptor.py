"""The adaptor on the small repository application: what changes is published as specified."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from emulator.channels.memory import DEFAULT_SCOPE, MemoryChannel
from emulator.clock import Clock
from emulator.events import Events
from emulator.kinesis import Engine
from sandbox.adaptor.adaptor import Adaptor, Polled
from sandbox.adaptor.adaptor_state import AdaptorState
from sandbox.adaptor.application_api import ApplicationUnavailableError, Source
from sandbox.adaptor.example.small_repository import SmallRepository, sample_deposits
from sandbox.adaptor.mapping_file import read_mapping
from sandbox.gateway import Gateway, Machine
from sandbox.gateway.outbox import Outbox
from sandbox.repository import Repository
from schemas.rdss.validation import judge
from schemas.rdss.versions import named_versions

NOW = 1_780_000_000.0
MAPPING = Path(str(files("sandbox.adaptor.example") / "mapping.yaml"))


@dataclass
class Site:
    """The application, the stream, and an adaptor that can be restarted at any time."""

    folder: Path
    clock: Clock
    engine: Engine
    application: SmallRepository
    stack: ExitStack
    mapping: Any
    source: Source

    def adaptor(self) -> Adaptor:
        repository = self.stack.enter_context(closing(Repository(self.folder / "a.sqlite3", self.clock)))
        channel = MemoryChannel(self.engine, "input", clock=self.clock)
        outbox = Outbox(
            Gateway(channel, repository, self.clock),
            self.clock,
            generator=self.mapping.application,
            machine=Machine("adaptor", "localhost"),
        )
        return Adaptor(self.mapping, self.source, AdaptorState(repository), outbox)

    def poll(self) -> Polled:
        """Look once, a second later, as a process of its own."""
        self.clock.advance(1)
        return self.adaptor().poll()

    def sent(self) -> list[dict[str, Any]]:
        found = MemoryChannel(self.engine, "input", clock=self.clock).read(limit=1000)
        for delivery in found:
            verdict = judge(delivery.data)
            assert verdict.valid, verdict
        return [msgspec.json.decode(delivery.data) for delivery in found]

    def types(self) -> list[str]:
        return [message["messageHeader"]["messageType"] for message in self.sent()]


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Site]:
    clock = Clock(frozen_at=NOW)
    with ExitStack() as stack:
        engine = stack.enter_context(closing(Engine(None, clock, Events(clock))))
        engine.call("CreateStream", {"StreamName": "input", "ShardCount": 1}, DEFAULT_SCOPE)
        application = stack.enter_context(SmallRepository(clock).serving())
        mapping = read_mapping(MAPPING)
        source = stack.enter_context(closing(Source(application.url, mapping.place)))
        yield Site(tmp_path, clock, engine, application, stack, mapping, source)


def test_new_public_works_are_created(site: Site) -> None:
    """One MetadataCreate each, valid, of the institution; the confidential thesis is not told of."""
    for deposit in sample_deposits():
        site.application.deposit(deposit)
    polled = site.poll()
    assert [told.message_type for told in polled.told] == ["MetadataCreate"] * 2
    assert polled.unmapped == []
    messages = site.sent()
    assert {m["messageHeader"]["tenantJiscID"] for m in messages} == {1539}
    assert {m["messageBody"]["objectResourceType"] for m in messages} == {"dataset", "software"}
    people = [p["person"]["personUUID"] for m in messages for p in m["messageBody"]["objectPersonRole"]]
    assert len(people) == 3
    assert len(set(people)) == 2


def test_a_change_is_a_new_version_of_the_whole_object(site: Site) -> None:
    """MetadataUpdate under a UUID of its own, with every field, as isNewVersionOf the one before."""
    deposit = site.application.deposit(sample_deposits()[0])
    site.poll()
    site.clock.advance(1)
    site.application.change(deposit["id"], {"title": "Better title"})
    site.poll()
    created, updated = (message["messageBody"] for message in site.sent())
    assert site.types() == ["MetadataCreate", "MetadataUpdate"]
    assert named_versions(updated) == ((created["objectUUID"],), ())
    assert updated["objectUUID"] != created["objectUUID"]
    assert updated["objectTitle"] == "Better title"
    assert updated["objectPersonRole"] == created["objectPersonRole"]


def test_a_work_that_becomes_public_is_created(site: Site) -> None:
    """Nobody was told of it while it was confidential, so it is no update."""
    deposit = site.application.deposit(sample_deposits()[1])
    site.poll()
    assert site.sent() == []
    site.clock.advance(1)
    site.application.change(deposit["id"], {"visibility": "public"})
    site.poll()
    assert site.types() == ["MetadataCreate"]


@pytest.mark.parametrize("change", [{"state": "withdrawn"}, {"visibility": "confidential"}])
def test_a_work_that_is_hidden_is_deleted_and_created_when_it_is_back(
    site: Site, change: dict[str, str]
) -> None:
    """Withdrawn or made confidential: a MetadataDelete of the latest version, once."""
    deposit = site.application.deposit(sample_deposits()[0])
    site.poll()
    site.clock.advance(1)
    site.application.change(deposit["id"], change)
    site.poll()
    site.poll()
    site.clock.advance(1)
    site.application.change(deposit["id"], {"state": "live", "visibility": "public"})
    site.poll()
    created, deleted, again = site.sent()
    assert site.types() == ["MetadataCreate", "MetadataDelete", "MetadataCreate"]
    assert deleted["messageBody"] == {"objectUUID": created["messageBody"]["objectUUID"]}
    assert again["messageBody"]["objectUUID"] != created["messageBody"]["objectUUID"]


def test_nothing_is_told_twice(site: Site) -> None:
    """Looking again, also as a new process, and a change of nothing that is published: no message."""
    deposit = site.application.deposit(sample_deposits()[0])
    site.poll()
    site.poll()
    site.application.change(deposit["id"], {"views": 12})
    site.poll()
    assert len(site.sent()) == 1


def test_the_watermark_is_durable(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restarted adaptor asks for what has changed since the last one looked, not for everything."""
    asked: list[str] = []
    changes = site.application.changes

    def watched(since: str, page: int) -> Any:
        asked.append(since)
        return changes(since, page)

    monkeypatch.setattr(site.application, "changes", watched)
    stored = site.application.deposit(sample_deposits()[0])
    site.poll()
    site.poll()
    assert asked == ["", stored["modified"]]


def test_every_page_is_read(site: Site) -> None:
    """Fifty deposits on three pages are fifty creates."""
    for _ in range(50):
        site.application.deposit(sample_deposits()[0])
        site.clock.advance(0.01)
    assert len(site.poll().told) == 50


def test_an_item_that_cannot_be_mapped_is_kept_until_it_can(site: Site) -> None:
    """It is reported once and holds up nothing; with a better mapping it is published without changing."""
    site.application.deposit({**sample_deposits()[0], "visibility": "members only"})
    site.application.deposit(sample_deposits()[2])
    polled = site.poll()
    assert len(polled.told) == 1
    assert "'members only'; the mapping knows public, confidential" in polled.unmapped[0].why
    assert site.poll().unmapped == []
    access = site.mapping.template["objectRights"]["access"][0]["accessType"]
    access["$of"] = {**access["$of"], "members only": "restricted"}
    assert [told.id for told in site.poll().told] == ["1"]


def test_an_item_that_makes_no_valid_message_is_not_sent(site: Site) -> None:
    """The field that is missing is named."""
    site.application.deposit({**sample_deposits()[0], "creators": []})
    polled = site.poll()
    assert site.sent() == []
    assert "objectPersonRole" in polled.unmapped[0].why


def test_killed_before_sending_it_sends_once(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was written down is sent by the next process, under the same UUID, and never again."""

    site.application.deposit(sample_deposits()[0])
    adaptor = site.adaptor()
    with monkeypatch.context() as patched:
        patched.setattr(adaptor._outbox, "flush", lambda: 0)
        adaptor.poll()
    assert site.sent() == []
    site.poll()
    site.poll()
    assert site.types() == ["MetadataCreate"]


def test_an_application_that_does_not_answer_is_named(site: Site) -> None:
    """The address and what came; nothing is forgotten."""
    place = replace(site.mapping.place, changes="/nothing")
    _refused(site.application.url, place, "/nothing answered 404")
    _refused("http://127.0.0.1:9", place, "does not answer")
    site.application.deposit(sample_deposits()[0])
    place = replace(site.mapping.place, items="$.deposits.0")
    _refused(site.application.url, place, "deposits.0 is not a list of objects")
    place = replace(site.mapping.place, next="$.deposits.0.licence")
    _refused(site.application.url, place, "the next page is said to be elsewhere")


def _refused(url: str, place: Any, said: str) -> None:
    with (
        closing(Source(url, place)) as source,
        pytest.raises(ApplicationUnavailableError, match=said),
    ):
        list(source.changes(""))


def test_the_small_repository_refuses_what_it_does_not_know(site: Site) -> None:
    """Wrong paths and bodies are answered with what would do."""
    url = site.application.url
    assert httpx.get(f"{url}/").status_code == 404
    assert httpx.post(f"{url}/deposits", content=b"[]").status_code == 400
    assert httpx.put(f"{url}/deposits/7", json={}).status_code == 404
    assert httpx.delete(f"{url}/deposits/7").status_code == 404
    made = httpx.post(f"{url}/deposits", json={"title": "a"}).json()
    assert httpx.delete(f"{url}/deposits/{made['id']}").json()["state"] == "withdrawn"
