"""Sending messages through the control API, and the sequences they make."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client, RefusedError
from rdss_sandbox.shapes.faults import NewFault
from rdss_sandbox.shapes.messages import NewMessage, WantedSamples


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with embedded(Settings(aws_port=0, control_port=0, data_dir=None)) as emulator:
        yield emulator.control


@pytest.fixture
def client(url: str) -> Iterator[Client]:
    with Client(url) as client:
        client.reset()
        yield client


def part(sequence: str, position: int, total: int) -> bytes:
    """A message that is one part of a sequence, as far as its header says so."""
    text = (
        f'{{"messageHeader":{{"messageId":"{sequence}-{position}","messageType":"MetadataCreate",'
        f'"messageSequence":{{"sequence":"{sequence}","position":{position},"total":{total}}}}},"messageBody":{{}}}}'
    )
    return text.encode()


def test_a_message_sent_is_the_message_read(client: Client) -> None:
    """The bytes arrive as they were given, in the stream they were sent to, under their messageId as key."""
    sent = client.send(NewMessage("output", part("s", 1, 1)))

    row = client.messages().messages[0]
    assert row.sequence_number == sent.sequence_number
    assert (row.stream, row.shard, row.partition_key) == ("output", sent.shard, "s-1")
    assert client.message(row.id).raw == part("s", 1, 1).decode()


def test_bytes_that_are_no_message_are_sent_as_they_are(client: Client) -> None:
    """Whatever the bytes are, they arrive; judging them is the receiver's."""
    client.send(NewMessage("input", b"\xff\x00 no json"))

    row = client.messages().messages[0]
    assert client.message(row.id).raw_base64 == "/wAgbm8ganNvbg=="


def test_a_large_message_fits(client: Client) -> None:
    """A message of a million bytes is taken, though its base64 is longer."""
    data = part("s", 1, 1)[:-1] + b" " * 999_000 + b"}"

    client.send(NewMessage("input", data))

    assert client.messages().messages[0].size == len(data)


def test_an_unknown_stream_is_named(client: Client) -> None:
    """A stream that is not there is refused by name, and nothing is made."""
    with pytest.raises(RefusedError, match="no stream is named 'nowhere'"):
        client.send(NewMessage("nowhere", b"{}"))


def test_a_fault_strikes_what_is_sent_here_too(client: Client) -> None:
    """A message sent through the control API meets the same faults as one sent through the AWS port."""
    client.add_fault(NewFault("duplicate", channel="input"))
    client.send(NewMessage("input", part("s", 1, 1)))
    client.add_fault(NewFault("error", channel="output", attributes={"code": "InternalFailure"}))
    client.add_fault(NewFault("disconnect", channel="invalid"))

    assert client.messages(matching="stream:input").total == 2
    with pytest.raises(RefusedError, match="Injected by the fault engine"):
        client.send(NewMessage("output", part("s", 1, 1)))
    with pytest.raises(RefusedError, match="cut the connection"):
        client.send(NewMessage("invalid", part("s", 1, 1)))


def test_sequences_tell_what_came_and_what_is_missing(client: Client) -> None:
    """Parts out of order and repeated ones count; a sequence is complete when every position came."""
    for sequence, position, total in (("b", 3, 3), ("a", 2, 2), ("b", 1, 3), ("b", 1, 3), ("a", 1, 2)):
        client.send(NewMessage("input", part(sequence, position, total)))
    client.send(NewMessage("input", part("whole", 1, 1)))

    page = client.sequences()
    assert page.total == 2
    broken, whole = page.sequences
    assert (broken.sequence, broken.positions, broken.parts, broken.total) == ("b", (1, 3), 3, 3)
    assert not broken.complete
    assert whole.complete
    assert [row.sequence for row in client.sequences(offset=1).sequences] == ["a"]
    assert [row.sequence for row in client.sequences(matching="sequence:b").sequences] == ["b"]
    assert [row.sequence for row in client.sequences(unfinished=True).sequences] == ["b"]


def test_messages_are_counted_by_a_field(client: Client) -> None:
    """Each value with how many messages have it, those without one under none, the most frequent first."""
    for stream in ("input", "output", "output"):
        client.send(NewMessage(stream, part("s", 1, 1)))
    client.send(NewMessage("output", b"no message"))

    by_type = {each.value: each.count for each in client.counts("type", matching="-stream:audit")}
    assert by_type == {"MetadataCreate": 3, None: 1}
    assert [(each.value, each.count) for each in client.counts("stream", matching="-stream:audit")] == [
        ("output", 3),
        ("input", 1),
    ]
    assert client.counts("code", matching="stream:input")[0].count == 1
    with pytest.raises(RefusedError, match="colour"):
        client.counts("colour")


def test_the_last_event_is_known_without_reading_them_all(client: Client) -> None:
    """The newest event's id is the number of events there are."""
    assert client.last_event() == client.events(limit=10_000)[-1].id


def test_samples_come_from_their_seed_and_are_refused_where_there_are_none(client: Client) -> None:
    """A seed that was drawn is told, so that the same can be sent again; a code without samples is named."""
    drawn = client.send_samples(WantedSamples("input", count=4))
    again = client.send_samples(WantedSamples("output", count=4, seed=drawn.seed))
    assert (drawn.records, again.records, again.seed, again.refused) == (4, 4, drawn.seed, 0)
    ids = [
        {row.message_id for row in client.messages(matching=f"stream:{stream}").messages}
        for stream in ("input", "output")
    ]
    assert ids[0] == ids[1]
    assert len(ids[0]) == 4

    for wrong in (WantedSamples("input", bad="NOERR001"), WantedSamples("input", bad="APPERRMET001")):
        with pytest.raises(RefusedError, match=wrong.bad) as refused:
            client.send_samples(wrong)
        assert refused.value.code == "no_such_samples"
    with pytest.raises(RefusedError, match="51 messages in 2 parts: 100 parts in all are the most"):
        client.send_samples(WantedSamples("input", count=51, parts=2))
    with pytest.raises(RefusedError, match="no stream is named 'nowhere'"):
        client.send_samples(WantedSamples("nowhere"))
    assert client.messages(matching="stream:input").total == 4
