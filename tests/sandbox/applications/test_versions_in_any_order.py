"""A repository ends with the same works, whatever order their messages come in, and however often."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.clock import Clock
from emulator.rng import new_uuid
from sandbox.applications import InstitutionalRepository
from sandbox.gateway.outbox import Outbox
from sandbox.receiver import ApplicationError, Arrival
from sandbox.repository import Repository
from schemas.rdss.envelope import serialise
from schemas.rdss.peek import peek
from schemas.rdss.samples import Samples
from tests.sandbox.applications.application_streams import NOW, Running, Streams

NAMES = [new_uuid() for _ in range(4)]
RELATIONS = st.lists(
    st.tuples(st.sampled_from(["isNewVersionOf", "isPreviousVersionOf"]), st.sampled_from(NAMES)),
    max_size=2,
    unique=True,
)
SAID = st.tuples(
    st.sampled_from(["MetadataCreate", "MetadataUpdate", "MetadataDelete"]), st.sampled_from(NAMES), RELATIONS
)


def said(number: int, kind: str, uuid: str, relations: list[tuple[str, str]]) -> bytes:
    """The message of that number, published so many seconds after noon."""
    message = Samples(1, now=NOW + number).message("MetadataCreate", "software")
    message["messageHeader"] |= {"messageId": new_uuid(), "messageType": kind}
    related = [
        {"relationType": relation, "identifier": {"identifierValue": other, "identifierType": "UUID"}}
        for relation, other in relations
    ]
    body = {**message["messageBody"], "objectUUID": uuid, "objectRelatedIdentifier": related}
    message["messageBody"] = {"objectUUID": uuid} if kind == "MetadataDelete" else body
    return serialise(message)


def ending(messages: list[bytes]) -> dict[str, tuple[Any, ...]]:
    """What the repository holds in the end: what it refused comes again, as long as anything is taken."""
    clock = Clock(frozen_at=NOW, autojump=True)
    with TemporaryDirectory() as folder, closing(Repository(Path(folder, "r.sqlite3"), clock)) as repository:
        application = InstitutionalRepository(repository, _no_outbox(), clock)
        waiting, taken = messages, True
        while waiting and taken:
            refused = [raw for raw in waiting if not _takes(application, repository, raw)]
            taken, waiting = len(refused) < len(waiting), refused
        with repository.transaction() as store:
            rows = store.execute("SELECT objectUUID, work, object, current, visible FROM versions").fetchall()
    return {uuid: tuple(rest) for uuid, *rest in rows}


def _takes(application: InstitutionalRepository, repository: Repository, raw: bytes) -> bool:
    try:
        with repository.transaction() as store:
            application(Arrival(raw, peek(raw), 1), store)
    except ApplicationError:
        return False
    return True


def _no_outbox() -> Outbox:
    return None  # type: ignore[return-value] # nothing is read, so nothing is answered


@given(st.lists(SAID, min_size=1, max_size=7), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_any_order_ends_the_same(told: list[tuple[str, str, list[tuple[str, str]]]], shuffling: Any) -> None:
    """Mixed relations, gaps, circles, deletes, repeats; each work has one current version, or none."""
    messages = [said(number, *each) for number, each in enumerate(told)]
    shuffled = messages + shuffling.sample(messages, len(messages) // 2)
    shuffling.shuffle(shuffled)
    found = ending(messages)
    assert ending(shuffled) == found
    works = {work for work, *_ in found.values()}
    assert [sum(current for work, _, current, _ in found.values() if work == each) for each in works] == [
        1
    ] * len(works)


@pytest.fixture
def running(streams: Streams) -> Running:
    return streams.open(lambda repository, outbox: InstitutionalRepository(repository, outbox, streams.clock))


def test_an_older_version_published_again_is_filed_under_its_work(streams: Streams, running: Running) -> None:
    """To catch up, by isPreviousVersionOf: users go on seeing the newest, and the old one can be read."""
    first = streams.create()
    uuid = first["messageBody"]["objectUUID"]
    second = streams.update(uuid)
    again = streams.create()
    again["messageBody"] = {
        **first["messageBody"],
        "objectTitle": "Caught up with",
        "objectRelatedIdentifier": [
            {
                "relationType": "isPreviousVersionOf",
                "identifier": {
                    "identifierValue": second["messageBody"]["objectUUID"],
                    "identifierType": "UUID",
                },
            }
        ],
    }
    streams.put(first, second, again, streams.about("MetadataRead", uuid))
    running.run()
    assert list(running.application.visible()) == [second["messageBody"]["objectUUID"]]
    (answer,) = streams.on("output")
    assert answer["messageBody"]["objectTitle"] == "Caught up with"
    with running.repository.transaction() as store:
        rows = store.execute("SELECT count(*), sum(current), count(DISTINCT work) FROM versions").fetchone()
        (did,) = store.execute("SELECT did FROM deeds WHERE row = 3").fetchone()
    assert rows == (2, 1, 1)
    assert did == f"filed an older version of the work {uuid}"
