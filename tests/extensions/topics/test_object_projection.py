"""The topic of digital objects, made from what passes the streams."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import boto3
import msgspec
import pytest

from emulator.assembly.embedded import Embedded, embedded
from emulator.clock import Clock
from emulator.settings.settings import Settings
from extensions.topics.engine.commands import Publish
from extensions.topics.settings import TopicSettings
from extensions.topics.topic_port import TopicPort
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.text.timestamps import timestamp
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split_raw
from tests.waiting import wait_until

SETTINGS = Settings(aws_port=0, control_port=0, data_dir=None, seed=7)


class Sandbox:
    """A sandbox to which messages are put and of whose objects one asks."""

    def __init__(self, emulator: Embedded) -> None:
        self.control = Client(emulator.control)
        self.kinesis = boto3.client(
            "kinesis",
            endpoint_url=emulator.aws,
            region_name=emulator.settings.region,
            aws_access_key_id="test",
            aws_secret_access_key="test",
        )

    def put(self, *messages: dict[str, Any] | bytes, stream: str = "input") -> None:
        for message in messages:
            data = message if isinstance(message, bytes) else serialise(message)
            self.kinesis.put_record(StreamName=stream, Data=data, PartitionKey="k")

    def objects(self, matching: str = "") -> dict[str, dict[str, Any]]:
        page = self.control.topics.records("objects", matching=matching, limit=1000)
        found = [msgspec.json.decode(record.data) for record in page.records]
        assert page.total == len(found)
        return {each["objectUUID"]: each for each in found}

    def close(self) -> None:
        self.control.close()
        self.kinesis.close()


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with embedded(SETTINGS) as emulator:
        found = Sandbox(emulator)
        yield found
        found.close()


def created(samples: Samples, **changes: Any) -> dict[str, Any]:
    message = samples.message("MetadataCreate", "dataset")
    message["messageBody"] |= changes
    return message


def following(message: dict[str, Any], samples: Samples, kind: str, **changes: Any) -> dict[str, Any]:
    """A later message about the same object."""
    header = message["messageHeader"] | {
        "messageId": samples.message("MetadataCreate")["messageHeader"]["messageId"],
        "messageType": kind,
    }
    return {"messageHeader": header, "messageBody": message["messageBody"] | changes}


def test_objects_follow_their_messages(sandbox: Sandbox) -> None:
    """Created, updated as a whole, deleted; whatever stream it was said in."""
    samples = Samples(1)
    first, second = created(samples, objectTitle="before"), created(samples)
    uuid = first["messageBody"]["objectUUID"]
    sandbox.put(first, second)
    assert sandbox.objects()[uuid] == first["messageBody"]
    update = following(first, samples, "MetadataUpdate", objectTitle="after")
    del update["messageBody"]["objectDescription"]
    sandbox.put(update, stream="output")
    assert sandbox.objects()[uuid] == update["messageBody"]
    assert list(sandbox.objects("/objectTitle = 'after'")) == [uuid]
    gone = following(first, samples, "MetadataDelete")
    sandbox.put({**gone, "messageBody": {"objectUUID": uuid}})
    assert list(sandbox.objects()) == [second["messageBody"]["objectUUID"]]


def test_what_is_no_news_of_an_object_is_passed_over(sandbox: Sandbox) -> None:
    """Other types, other bytes, what failed, what came before: the objects stay as they are."""
    samples = Samples(2)
    message = created(samples, objectTitle="before")
    update = following(message, samples, "MetadataUpdate", objectTitle="after")
    sandbox.put(message, update, message)
    sandbox.put(created(samples), stream="error")
    sandbox.put(created(samples), stream="invalid")
    sandbox.put(b"no JSON", b"{}", b'{"messageHeader":{"messageType":"MetadataCreate"},"messageBody":[]}')
    sandbox.put(samples.message("MetadataRead"), samples.message("PreservationEvent"))
    (found,) = sandbox.objects().values()
    assert found["objectTitle"] == "after"


def test_an_object_in_parts_is_there_once_the_last_part_is(sandbox: Sandbox) -> None:
    """The sequence is joined, in whatever order its parts come."""
    samples = Samples(3)
    message = created(samples)
    ids = iter(samples.message("MetadataCreate")["messageHeader"]["messageId"] for _ in range(99))
    parts = split_raw(serialise(message), limit=2500, new_id=lambda: next(ids))
    assert len(parts) > 2
    sandbox.put(*reversed(parts[1:]))
    assert sandbox.objects() == {}
    sandbox.put(parts[0])
    assert list(sandbox.objects().values()) == [message["messageBody"]]


def test_an_object_expires_with_its_message() -> None:
    """The record lives as long as the message says; one that came too late is not taken."""
    clock = Clock(frozen_at=1_900_000_000)
    with embedded(SETTINGS, clock) as emulator:
        sandbox = Sandbox(emulator)
        samples = Samples(4)
        short, late = created(samples), created(samples)
        for message, seconds in ((short, 60), (late, -60)):
            timings = message["messageHeader"]["messageTimings"]
            timings["expirationTimestamp"] = timestamp(clock.time() + seconds)
        sandbox.put(short, late)
        assert list(sandbox.objects()) == [short["messageBody"]["objectUUID"]]
        assert sandbox.control.topics.changes("objects").last == 0
        clock.advance(61)
        (change,) = _changes(sandbox, 1)
        assert (change.cmd, change.reason) == ("oof", "expired")
        assert sandbox.objects() == {}
        sandbox.close()


def test_changes_tell_what_came_and_what_left_and_why(sandbox: Sandbox) -> None:
    """Since the first question; with a filter also what stopped matching."""
    samples = Samples(5)
    message = created(samples, objectTitle="fish")
    uuid = message["messageBody"]["objectUUID"]
    fish = "/objectTitle = 'fish'"
    assert sandbox.control.topics.changes("objects", matching=fish).changes == ()
    sandbox.put(message, following(message, samples, "MetadataUpdate", objectTitle="fowl"))
    came, left = _changes(sandbox, 2, matching=fish)
    assert (came.cmd, came.reason, left.cmd, left.reason) == ("publish", None, "oof", "filter")
    assert msgspec.json.decode(left.data)["objectTitle"] == "fowl"
    assert came.correlation_id == message["messageHeader"]["messageId"].replace("-", "")
    assert sandbox.control.topics.changes("objects", matching=fish, after=1).changes == (left,)
    assert uuid in bytes(came.data).decode()


def _changes(sandbox: Sandbox, count: int, topic: str = "objects", **query: Any) -> tuple[Any, ...]:
    """The changes, once there are so many."""

    def look() -> tuple[Any, ...] | None:
        found = sandbox.control.topics.changes(topic, **query).changes
        return found if len(found) >= count else None

    return wait_until(look)


def test_changes_go_on_after_a_reset(sandbox: Sandbox) -> None:
    """They are counted from 1 again, and of what came before there are none."""
    samples = Samples(9)
    sandbox.control.topics.changes("objects")
    sandbox.put(created(samples))
    assert len(_changes(sandbox, 1)) == 1
    sandbox.control.reset()
    assert sandbox.control.topics.changes("objects").last == 0
    sandbox.put(created(samples))
    (change,) = _changes(sandbox, 1)
    assert change.id == 1


def test_the_topics_and_what_is_asked_wrongly(sandbox: Sandbox) -> None:
    """The list says what a topic is; a filter or topic that will not do is refused with the reason."""
    (objects,) = sandbox.control.topics.list()
    assert (objects.name, objects.kind, objects.records, objects.logged) == ("objects", "topic", 0, True)
    for ask in (sandbox.control.topics.records, sandbox.control.topics.changes):
        with pytest.raises(RefusedError, match="of filter: /a ="):
            ask("objects", matching="/a =")
    with pytest.raises(RefusedError, match="nowhere"):
        sandbox.control.topics.records("nowhere")


def test_what_can_be_watched_and_what_not(tmp_path: Path) -> None:
    """A topic without a state of the world tells what passes; a queue gives nothing away."""
    file = tmp_path / "topics.toml"
    file.write_text(
        '[[topics]]\nkind = "topic"\nname = "work"\nlogged = true\n'
        '[[topics]]\nkind = "queue"\nname = "jobs"\nof = ["work"]\n'
    )
    with embedded(replace(SETTINGS, extensions=(TopicSettings(topics=file),))) as emulator:
        sandbox = Sandbox(emulator)
        assert sandbox.control.topics.changes("work").last == 0
        with TopicPort(emulator.urls["topics"]) as port:
            port.execute(Publish(topic="work", data=msgspec.Raw(b'{"n":1}')))
        (change,) = _changes(sandbox, 1, topic="work")
        assert (change.cmd, change.topic, bytes(change.data)) == ("publish", "work", b'{"n":1}')
        with pytest.raises(RefusedError, match="who watches it would take its messages"):
            sandbox.control.topics.changes("jobs")
        assert {each.name: each.records for each in sandbox.control.topics.list()}["jobs"] == 1
        sandbox.close()


def test_pages_are_of_all_the_records_in_order(sandbox: Sandbox) -> None:
    """Any part of an ordered state of the world can be had by itself."""
    samples = Samples(6)
    sandbox.put(*(created(samples, objectTitle=f"{at:02}") for at in range(25)))
    pages = [
        sandbox.control.topics.records("objects", orderby="/objectTitle DESC", offset=offset, limit=10)
        for offset in (0, 10, 20, 30)
    ]
    assert [page.total for page in pages] == [25] * 4
    titles = [msgspec.json.decode(each.data)["objectTitle"] for page in pages for each in page.records]
    assert titles == [f"{at:02}" for at in reversed(range(25))]


def test_objects_outlive_the_process_and_go_with_a_reset(tmp_path: Path) -> None:
    """Started again, what was read is not read again; after a reset nothing is there."""
    samples = Samples(8)
    message = created(samples)
    settings = Settings(aws_port=0, control_port=0, data_dir=tmp_path, seed=7)
    for _ in range(2):
        with embedded(settings) as emulator:
            sandbox = Sandbox(emulator)
            if not sandbox.objects():
                sandbox.put(message)
            assert list(sandbox.objects().values()) == [message["messageBody"]]
            sandbox.close()
    with embedded(settings) as emulator:
        sandbox = Sandbox(emulator)
        sandbox.control.reset()
        assert sandbox.objects() == {}
        sandbox.put(message)
        assert len(sandbox.objects()) == 1
        sandbox.close()


def version(samples: Samples, title: str, *relations: tuple[str, dict[str, Any]]) -> dict[str, Any]:
    """A message of a version with a UUID of its own, and what it says of others."""
    message = created(samples, objectTitle=title)
    message["messageBody"]["objectRelatedIdentifier"] = [
        {
            "relationType": relation,
            "identifier": {"identifierValue": other["messageBody"]["objectUUID"], "identifierType": "UUID"},
        }
        for relation, other in relations
    ]
    return message


def test_the_current_version_of_a_work_is_there_in_any_order() -> None:
    """One that another follows leaves or never comes, be it published again, last, or twice."""
    samples = Samples(9)
    first = version(samples, "first")
    second = version(samples, "second", ("isNewVersionOf", first))
    third = version(samples, "third", ("isNewVersionOf", second))
    again = version(samples, "again", ("isPreviousVersionOf", third))
    again["messageBody"]["objectUUID"] = second["messageBody"]["objectUUID"]
    messages = [first, second, third, again]
    for order in permutations(range(4)):
        with embedded(SETTINGS) as emulator:
            sandbox = Sandbox(emulator)
            sandbox.put(*(messages[at] for at in (*order, order[0], order[1])))
            assert [found["objectTitle"] for found in sandbox.objects().values()] == ["third"], order
            sandbox.close()


def test_a_delete_takes_the_work_away_by_any_of_its_versions(sandbox: Sandbox) -> None:
    """An older one that is published again afterwards brings nothing back; its next version does."""
    samples = Samples(9)
    first = version(samples, "first")
    second = version(samples, "second", ("isNewVersionOf", first))
    gone = samples.message("MetadataDelete")
    gone["messageBody"]["objectUUID"] = first["messageBody"]["objectUUID"]
    sandbox.put(first, second)
    assert list(sandbox.objects()) == [second["messageBody"]["objectUUID"]]
    sandbox.put(gone)
    assert sandbox.objects() == {}
    again = version(samples, "again", ("isPreviousVersionOf", second))
    again["messageBody"]["objectUUID"] = first["messageBody"]["objectUUID"]
    sandbox.put(again)
    assert sandbox.objects() == {}
    third = version(samples, "third", ("isNewVersionOf", second))
    sandbox.put(third)
    assert list(sandbox.objects()) == [third["messageBody"]["objectUUID"]]


def test_versions_are_known_to_the_next_process(tmp_path: Path) -> None:
    """An older version published again without a word of the others is still an older version."""
    samples = Samples(9)
    first = version(samples, "first")
    second = version(samples, "second", ("isNewVersionOf", first))
    third = version(samples, "third", ("isNewVersionOf", second))
    again = following(first, samples, "MetadataCreate", objectTitle="again")
    settings = Settings(aws_port=0, control_port=0, data_dir=tmp_path, seed=7)
    for put in ([first, second, third], [again]):
        with embedded(settings) as emulator:
            sandbox = Sandbox(emulator)
            sandbox.put(*put)
            assert list(sandbox.objects()) == [third["messageBody"]["objectUUID"]]
            sandbox.close()


def test_a_version_that_is_current_after_all_is_there_again(sandbox: Sandbox) -> None:
    """Two that each claim to follow the other: the one published last, whichever came last."""
    samples = Samples(9)
    older, newer = version(samples, "older"), version(samples, "newer")
    follows = version(samples, "older", ("isNewVersionOf", newer))
    follows["messageBody"]["objectUUID"] = older["messageBody"]["objectUUID"]
    sandbox.put(version(samples, "other"), newer, follows)
    assert sorted(found["objectTitle"] for found in sandbox.objects().values()) == ["older", "other"]
    circle = version(samples, "newest", ("isNewVersionOf", older))
    circle["messageBody"]["objectUUID"] = newer["messageBody"]["objectUUID"]
    circle["messageHeader"]["messageTimings"] = older["messageHeader"]["messageTimings"]
    sandbox.put(circle)
    assert sorted(found["objectTitle"] for found in sandbox.objects().values()) == ["older", "other"]
    latest = following(circle, samples, "MetadataCreate", objectTitle="latest")
    latest["messageHeader"]["messageTimings"] = samples.message("MetadataCreate")["messageHeader"][
        "messageTimings"
    ]
    sandbox.put(latest)
    assert sorted(found["objectTitle"] for found in sandbox.objects().values()) == ["latest", "other"]
