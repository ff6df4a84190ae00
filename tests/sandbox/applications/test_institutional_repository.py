"""The institutional repository does what the specification demands of one, and says so when it cannot."""

from __future__ import annotations

import pytest

from sandbox.applications import InstitutionalRepository
from sandbox.applications.activity_log import ActivityLogEntry
from sandbox.applications.application_run import run_application
from tests.sandbox.applications.application_streams import Running, Streams


@pytest.fixture
def running(streams: Streams) -> Running:
    return streams.open(lambda repository, outbox: InstitutionalRepository(repository, outbox, streams.clock))


def test_a_create_makes_a_work_with_all_of_its_metadata(streams: Streams, running: Running) -> None:
    """A work of a metadata only record is created as well."""
    message = streams.create()
    assert message["messageBody"]["objectFile"] == []
    streams.put(message)
    running.run()
    uuid = message["messageBody"]["objectUUID"]
    assert running.application.visible() == {uuid: message["messageBody"]}
    assert streams.errors() == []


def test_an_update_is_the_new_version_of_the_work(streams: Streams, running: Running) -> None:
    """Users see the new version, whole, instead of the old one."""
    first = streams.create()
    second = streams.update(first["messageBody"]["objectUUID"], objectTitle="New title")
    third = streams.update(second["messageBody"]["objectUUID"], objectTitle="Newest title")
    streams.put(first, second, third)
    running.run()
    uuid = third["messageBody"]["objectUUID"]
    assert running.application.visible() == {uuid: third["messageBody"]}


def test_a_delete_hides_the_work_with_all_its_versions(streams: Streams, running: Running) -> None:
    """Nothing is left to see, whichever version the delete names; the rows are kept."""
    first = streams.create()
    uuid = first["messageBody"]["objectUUID"]
    streams.put(first, streams.update(uuid), streams.about("MetadataDelete", uuid))
    running.run()
    assert running.application.visible() == {}
    with running.repository.transaction() as store:
        assert store.execute("SELECT count(*) FROM versions").fetchone() == (2,)


def test_an_object_created_again_is_seen_again(streams: Streams, running: Running) -> None:
    """Hidden, then published once more: it is back."""
    first = streams.create()
    uuid = first["messageBody"]["objectUUID"]
    delete = streams.about("MetadataDelete", uuid)
    again = streams.create()
    again["messageBody"] = first["messageBody"]
    streams.put(first, delete, again)
    running.run()
    assert list(running.application.visible()) == [uuid]


@pytest.mark.parametrize(
    ("message_type", "code"),
    [
        ("MetadataUpdate", "APPERRMET001"),
        ("MetadataDelete", "APPERRMET002"),
        ("MetadataRead", "APPERRMET003"),
    ],
)
def test_an_unknown_object_has_its_error_code(
    streams: Streams, running: Running, message_type: str, code: str
) -> None:
    """The message goes to an error queue with the code, and the next message is processed."""
    unknown = "0f6b1d0e-3e0c-4b0e-9c2d-3a8a3f0a4a11"
    update = message_type == "MetadataUpdate"
    streams.put(streams.update(unknown) if update else streams.about(message_type, unknown), streams.create())
    running.run()
    assert streams.errors() == [code]
    assert len(running.application.visible()) == 1
    assert [m["messageHeader"]["errorCode"] for m in streams.on("output")] == [code] * (
        message_type == "MetadataRead"
    )


def test_a_read_is_answered_with_the_object(streams: Streams, running: Running) -> None:
    """The answer is a Document whose correlationId is the messageId of the request, for the same tenant."""
    created = streams.create()
    request = streams.about("MetadataRead", created["messageBody"]["objectUUID"])
    streams.put(created, request)
    running.run()
    (answer,) = streams.on("output")
    header = answer["messageHeader"]
    assert header["correlationId"] == request["messageHeader"]["messageId"]
    assert (header["messageType"], header["messageClass"]) == ("MetadataRead", "Document")
    assert header["tenantJiscID"] == request["messageHeader"]["tenantJiscID"]
    assert answer["messageBody"] == created["messageBody"]


def test_a_hidden_object_is_not_read(streams: Streams, running: Running) -> None:
    """To who asks for it, a hidden object does not exist."""
    created = streams.create()
    uuid = created["messageBody"]["objectUUID"]
    streams.put(created, streams.about("MetadataDelete", uuid), streams.about("MetadataRead", uuid))
    running.run()
    (refusal,) = streams.on("output")
    assert streams.errors() == [refusal["messageHeader"]["errorCode"]] == ["APPERRMET003"]
    assert refusal["messageBody"] == {"objectUUID": uuid}


def test_a_large_object_is_answered_in_parts(streams: Streams, running: Running) -> None:
    """An answer above the size limit goes out as a sequence."""
    created = streams.samples.big_message(2)
    from schemas.rdss.sequence import split

    streams.put(*split(created, new_id=lambda: "3b9f0d8e-6f0b-4c8e-9a55-0c3b1ad1a001"))
    streams.put(streams.about("MetadataRead", created["messageBody"]["objectUUID"]))
    running.run()
    parts = [answer["messageHeader"]["messageSequence"] for answer in streams.on("output")]
    assert [(part["position"], part["total"]) for part in parts] == [(1, 2), (2, 2)]


def test_an_answer_outlives_a_crash(streams: Streams, running: Running) -> None:
    """Ended before the answer was sent, the next process sends it, once, and processes nothing twice."""
    created = streams.create()
    streams.put(created, streams.about("MetadataRead", created["messageBody"]["objectUUID"]))
    running.receiver.run(lambda: True, wait=0)
    assert streams.on("output") == []
    restarted = streams.open(
        lambda repository, outbox: InstitutionalRepository(repository, outbox, streams.clock)
    )
    restarted.run()
    restarted.run()
    assert len(streams.on("output")) == 1


def test_what_it_did_is_told_once_it_is_done(streams: Streams, running: Running) -> None:
    """Each processed message is one line, in order; a rejected one is none."""
    created = streams.create()
    uuid = created["messageBody"]["objectUUID"]
    streams.put(created, streams.about("MetadataDelete", uuid), streams.about("MetadataRead", uuid))
    shown: list[ActivityLogEntry] = []
    run_application(running.receiver, running.outbox, running.repository, shown.append, lambda: True, wait=0)
    assert [(deed.message_type, deed.object_uuid) for deed in shown] == [
        ("MetadataCreate", uuid),
        ("MetadataDelete", uuid),
    ]
    assert shown[0].did == "created a work with no files"
