"""The receiver: every message once and whole, every bad one in the queue of its code, nothing lost.

What holds of the messages of any contract is tried with those of each. Sequences, expiry, versions and the
form of a header are RDSS's alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sqlite3
from typing import Any

import pytest

from emulator.channels.channel import ChannelUnavailableError
from emulator.rng import Chance
from sandbox.receiver import ApplicationError, Arrival
from sandbox.receiver.receiver import OUTAGE_SECONDS
from schemas.contract import Contract, SampleMaker
from schemas.rdss import MAX_MESSAGE_BYTES
from schemas.rdss.contract import AS_PUBLISHED, RDSS
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode, Queue
from schemas.rdss.older_versions import RELEASES
from schemas.rdss.sequence import body_of, join, split
from schemas.rdss.validation import judge
from tests.sandbox.receiver.receiver_on_tapes import NOW, Messages, Tapes, make_parts

EXPIRED = {"publishedTimestamp": "2004-08-01T10:00:00Z", "expirationTimestamp": "2004-08-01T10:00:00Z"}


@pytest.mark.parametrize(("failures", "survives"), [(0, True), (6, True), (20, False)])
def test_a_channel_that_cannot_be_read_is_asked_again(
    any_tapes: Tapes, samples: SampleMaker, failures: int, survives: bool
) -> None:
    """For half a minute, with growing pauses; then the receiver ends with what the channel says."""
    tapes = any_tapes
    tapes.put(samples.message())
    left = iter(range(failures))

    def step() -> None:
        if next(left, None) is not None:
            raise ChannelUnavailableError("input: no broker answers")

    tapes.step = step
    began = tapes.clock.elapsed()
    with contextlib.nullcontext() if survives else pytest.raises(ChannelUnavailableError, match="no broker"):
        tapes.receive()
    assert len(tapes.arrivals()) == survives
    assert tapes.clock.elapsed() - began >= (0 if survives else OUTAGE_SECONDS)


def test_every_message_that_is_received_is_in_the_repository(tapes: Tapes, messages: Messages) -> None:
    """Processed, rejected or waiting for its other parts; the next process finds it there."""
    good, bad = messages.small(), messages.small(version="4.0")
    part = messages.parts(2)[0]
    for each in (serialise(good), serialise(bad), part, b"no JSON"):
        tapes.input.put(each)
    tapes.receive()
    assert tapes.received() == [
        (good["messageHeader"]["messageId"], "processed", None),
        (bad["messageHeader"]["messageId"], "rejected", "GENERR004"),
        (json.loads(part)["messageHeader"]["messageId"], "waiting", None),
        (None, "rejected", "GENERR007"),
    ]


def test_a_version_to_come_counts_where_it_is_valid_in_this_one(tapes: Tapes, messages: Messages) -> None:
    """5.0.0 is not known: a message of it is judged as one of 4.0.0, and named by what is wrong in it."""
    tapes.input.put(serialise(messages.small(version="5.0.0")))
    tapes.input.put(serialise(messages.small(version="5.0.0", newHeader="x")))
    tapes.receive()
    assert len(tapes.arrivals()) == 1
    (rejected,) = tapes.rejected(Queue.INVALID)
    assert rejected["messageHeader"]["errorCode"] == "GENERR004"
    assert "newHeader" in rejected["messageHeader"]["errorDescription"]


def test_every_log_entry_of_an_error_has_a_code(
    any_tapes: Tapes, samples: SampleMaker, caplog: pytest.LogCaptureFixture
) -> None:
    """What is rejected, with its id and queue, and a channel that cannot be read (Error Codes: the log)."""
    tapes, contract = any_tapes, any_tapes.contract
    assert contract.samples is not None
    code = contract.samples.codes[-1]
    bad = samples.bad(code)
    why = contract.judge(bad.data, now=NOW).why
    tapes.put(bad)
    outage = iter([ChannelUnavailableError("input: no broker answers")])

    def step() -> None:
        if (error := next(outage, None)) is not None:
            raise error

    tapes.step = step
    with caplog.at_level("INFO"):
        tapes.receive()
    unreadable, rejected = (record.message for record in caplog.records)
    assert unreadable.startswith(f"{contract.failures.system}: trying again in ")
    assert rejected == f"{code}: {bad.key} goes to the {code.queue} queue: {why}"


def test_parts_are_joined_in_any_order_across_shards_and_restarts(tapes: Tapes, messages: Messages) -> None:
    """The application gets the message whole, once, when the last part has come."""
    parts = messages.parts(4)
    for place, at in enumerate([2, 0, 2, 3]):
        tapes.input.put(parts[at], shard=f"shardId-{place % 2}")
    tapes.receive()
    assert tapes.arrivals() == []
    tapes.input.put(parts[1])
    tapes.receive()
    ((_, data, count),) = tapes.arrivals()
    assert (data, count) == (join(parts), 4)
    tapes.input.put(parts[0])
    tapes.receive()
    assert len(tapes.arrivals()) == 1


def test_a_part_that_comes_again_under_another_message_id_changes_nothing(
    tapes: Tapes, messages: Messages
) -> None:
    """A producer that splits its message anew gives the parts new messageIds; they are duplicates."""
    parts = messages.parts(2)
    anew = json.loads(parts[1])
    anew["messageHeader"]["messageId"] = messages.draws.uuid4()
    for data in (parts[1], serialise(anew), parts[0], serialise(anew)):
        tapes.input.put(data)
    tapes.receive()
    assert [row[1] for row in tapes.arrivals()] == [join(parts)]
    assert tapes.rejected(Queue.INVALID) == []


@pytest.mark.parametrize(
    "place", [{"position": 0}, {"position": 3}, {"total": 3}, {"position": 2}, {"total": 10**30}]
)
def test_a_part_that_cannot_belong_to_its_sequence_is_rejected(
    tapes: Tapes, messages: Messages, place: dict[str, int]
) -> None:
    """A position beyond the total, another total, or another text at a taken position is GENERR004."""
    parts = messages.parts(2)
    stray = json.loads(parts[0])
    stray["messageHeader"]["messageId"] = messages.draws.uuid4()
    stray["messageHeader"]["messageSequence"].update(place)
    tapes.input.put(parts[1])
    tapes.input.put(serialise(stray))
    tapes.input.put(parts[0])
    tapes.receive()
    assert [row[1] for row in tapes.arrivals()] == [join(parts)]
    (rejected,) = tapes.rejected(Queue.INVALID)
    assert rejected["messageHeader"]["errorCode"] == "GENERR004"


@pytest.mark.parametrize("contract", [RDSS, AS_PUBLISHED])
@pytest.mark.parametrize("number", [2**31, 2**63, 10**400], ids=["32 bits", "64 bits", "no bits"])
def test_a_sequence_of_more_parts_than_can_be_is_rejected(
    tapes: Tapes, messages: Messages, number: int, contract: Contract
) -> None:
    """However the message is judged; what comes after it is received."""
    tapes.contract = contract
    part, good = json.loads(messages.parts(2)[0]), serialise(messages.small())
    part["messageHeader"]["messageSequence"] |= {"position": number, "total": number}
    for data in (json.dumps(part).encode(), json.dumps(part).encode(), good):
        tapes.input.put(data)
    tapes.receive()
    assert [row[1] for row in tapes.arrivals()] == [good]
    (rejected,) = tapes.rejected(Queue.INVALID)
    assert rejected["messageHeader"]["errorCode"] in {"GENERR001", "GENERR004"}


def test_parts_whose_others_never_come_are_given_up_in_time(tapes: Tapes, messages: Messages) -> None:
    """When the patience is over, also amid other messages, the parts are in the invalid queue, GENERR001."""
    tapes.patience = 60.0
    part = messages.parts(3)[1]
    tapes.input.put(part)
    tapes.receive()
    tapes.clock.advance(61)
    tapes.input.put(serialise(messages.small()))
    repository = tapes.open()
    assert tapes.receiver(repository).step() == 1
    repository.close()
    (rejected,) = tapes.rejected(Queue.INVALID)
    assert rejected["messageHeader"]["errorCode"] == "GENERR001"
    assert rejected["messageBody"] == json.loads(part)["messageBody"]
    assert [each[1:] for each in tapes.received()] == [("rejected", "GENERR001"), ("processed", None)]


def test_a_sequence_whose_last_part_comes_as_it_is_given_up_is_not_given_up(
    tapes: Tapes, messages: Messages, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of another shard has joined it since late ones were listed; the next one is given up."""
    tapes.patience = 60
    parts, other = messages.parts(2), messages.parts(3)[0]
    for part in (*parts, other):
        tapes.input.put(part)
    repository = tapes.open()
    late = [json.loads(part)["messageHeader"]["messageSequence"]["sequence"] for part in (parts[0], other)]
    monkeypatch.setattr(repository, "overdue", lambda _before: late)
    assert tapes.receiver(repository).step() == 3
    repository.close()
    assert len(tapes.arrivals()) == 1
    (rejected,) = (each for queue in Queue for each in tapes.rejected(queue))
    assert rejected["messageBody"] == json.loads(other)["messageBody"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"messageTimings": EXPIRED}, ErrorCode.GENERR003),
        ({"messageType": "MetadataPatch"}, ErrorCode.GENERR002),
        ({"version": 4}, ErrorCode.GENERR004),
        ({"messageId": "5680E8E0"}, ErrorCode.GENERR010),
    ],
)
def test_a_bad_message_goes_to_the_queue_of_its_code(
    tapes: Tapes, messages: Messages, change: dict[str, Any], code: ErrorCode
) -> None:
    """It has code, description and who refused it, its body untouched; the application never sees it."""
    bad = serialise(messages.small(**change))
    tapes.input.put(bad)
    tapes.input.put(bad)
    tapes.receive()
    assert tapes.arrivals() == []
    (rejected,) = tapes.rejected(code.queue)
    header = rejected["messageHeader"]
    assert header["errorCode"] == code
    assert header["errorDescription"]
    assert (header["messageHistory"][-1]["machineId"], header["messageHistory"][-1]["machineAddress"]) == (
        "test",
        "localhost",
    )
    assert rejected["messageBody"] == json.loads(bad)["messageBody"]
    assert tapes.counted("duplicate") == 1


@pytest.mark.parametrize("data", [b'{"messageHeader": {"messageId', b"\xff\xfe\x00", b"", b"[]"])
def test_malformed_bytes_are_kept_in_the_invalid_queue(any_tapes: Tapes, data: bytes) -> None:
    """With the code of what cannot be read; the bytes that came can be had back."""
    contract = any_tapes.contract
    any_tapes.input.put(data)
    any_tapes.receive()
    (rejected,) = any_tapes.queues[Queue.INVALID].deliveries
    assert contract.peek(rejected.data).error_code == contract.judge(data).code
    assert contract.undecorate(rejected.data).data == data


def test_an_oversize_message_is_kept_whole_in_the_error_bucket(tapes: Tapes, messages: Messages) -> None:
    """GENERR006 in the error queue, small enough for it, with address, size and checksum of the original."""
    data = serialise(messages.small(generator="g" * 900_000)) + b" " * 100_000
    assert len(data) > MAX_MESSAGE_BYTES
    tapes.input.put(data)
    tapes.receive()
    (rejected,) = tapes.rejected(Queue.ERROR)
    assert rejected["messageHeader"]["errorCode"] == "GENERR006"
    reference = rejected["messageBody"]
    assert tapes.originals.kept[reference["original"]] == data
    assert reference["bytes"] == len(data)
    assert reference["sha256"] == hashlib.sha256(data).hexdigest()
    assert len(tapes.queues[Queue.ERROR].deliveries[0].data) <= MAX_MESSAGE_BYTES


@pytest.mark.parametrize("size", [999_900, 2_000_000])
def test_a_bad_message_with_no_room_for_its_reason_is_referenced(
    tapes: Tapes, messages: Messages, size: int
) -> None:
    """A header that fills a message, or more, still ends in a queue, within the limit, original kept."""
    data = serialise(messages.small(generator="g" * (size - 400), version="four"))
    tapes.input.put(data)
    tapes.receive()
    (delivery,) = [d for tape in tapes.queues.values() for d in tape.deliveries]
    assert len(delivery.data) <= MAX_MESSAGE_BYTES
    rejected = json.loads(delivery.data)
    assert rejected["messageHeader"]["messageId"] == json.loads(data)["messageHeader"]["messageId"]
    assert tapes.originals.kept[rejected["messageBody"]["original"]] == data


def test_a_joined_message_that_is_bad_is_judged_whole(tapes: Tapes, messages: Messages) -> None:
    """Each part is fine by its header; what they make is no body, so the joined message is GENERR001."""
    parts = messages.parts(2)
    broken = json.loads(parts[0])
    broken["messageBody"] = broken["messageBody"].replace("objectUUID", "objectUuid")
    parts[0] = serialise(broken)
    for part in parts:
        tapes.input.put(part)
    tapes.receive()
    (rejected,) = tapes.rejected(Queue.INVALID)
    assert rejected["messageHeader"]["errorCode"] == "GENERR001"
    assert "objectUuid" in rejected["messageBody"]
    assert [each[1:] for each in tapes.received()] == [("rejected", "GENERR001")] * 2


def test_an_application_says_why_it_cannot_process_a_message(any_tapes: Tapes, samples: SampleMaker) -> None:
    """Its code is used, what it wrote is undone; another error is unknown; later messages go on."""
    contract, (one, other, good) = any_tapes.contract, samples.stream(3)
    code = [*contract.codes.values()][-1]

    def application(arrival: Arrival, store: sqlite3.Connection) -> None:
        store.execute("INSERT INTO arrivals VALUES (?, ?, ?)", (arrival.header.message_id, arrival.data, 1))
        if arrival.header.message_id == one.key:
            raise ApplicationError(code, "no such object")
        if arrival.header.message_id == other.key:
            raise RuntimeError("disk on fire")

    any_tapes.application = application
    any_tapes.put(one, other, good)
    any_tapes.receive()
    assert [row[0] for row in any_tapes.arrivals()] == [good.key]
    found = {
        (queue, contract.peek(each.data).error_code, contract.undecorate(each.data).reason)
        for queue, tape in any_tapes.queues.items()
        for each in tape.deliveries
    }
    unknown = contract.failures.unknown
    assert found == {
        (code.queue, code, "no such object"),
        (unknown.queue, unknown, "RuntimeError: disk on fire"),
    }


def test_a_failing_store_is_a_failure_of_the_underlying_system(
    any_tapes: Tapes, samples: SampleMaker
) -> None:
    """A disk, a network or a database that fails the application has the code of the system's failures."""

    def application(_arrival: Arrival, store: sqlite3.Connection) -> None:
        store.execute("INSERT INTO a_table_that_is_gone VALUES (1)")

    any_tapes.application, contract = application, any_tapes.contract
    any_tapes.put(samples.message())
    any_tapes.receive()
    (rejected,) = any_tapes.queues[Queue(contract.failures.system.queue)].deliveries
    assert contract.peek(rejected.data).error_code == contract.failures.system
    assert "OperationalError: no such table: a_table_that_is_gone" in (
        contract.undecorate(rejected.data).reason or ""
    )


@pytest.mark.parametrize("end", ["COMMIT", "ROLLBACK"])
@pytest.mark.parametrize("parts", [1, 2])
def test_a_transaction_that_cannot_be_undone_is_a_failed_rollback(
    any_tapes: Tapes, samples: SampleMaker, end: str, parts: int
) -> None:
    """An application that ended the transaction itself, and then failed: once in the error queue, no more."""

    def application(arrival: Arrival, store: sqlite3.Connection) -> None:
        store.execute("INSERT INTO arrivals VALUES (?, ?, ?)", (arrival.header.message_id, arrival.data, 1))
        store.execute(end)
        raise RuntimeError("and now this")

    tapes, contract = any_tapes, any_tapes.contract
    tapes.application = application
    in_parts = make_parts(contract, samples, parts, Chance(1).draws("parts")) if parts > 1 else []
    sent = in_parts or [samples.message()]
    tapes.put(*sent)
    tapes.receive()
    tapes.application = None
    other = samples.message()
    tapes.put(other)
    tapes.receive()
    assert tapes.refused() == [(contract.failures.rollback, contract.body(each.data)) for each in sent]
    assert tapes.arrivals()[-1][1] == other.data


def test_a_message_of_3_x_is_given_to_the_application_as_one_of_4_0_0(
    tapes: Tapes, messages: Messages
) -> None:
    """Whole or in parts: upgraded, and known as a duplicate by the bytes and id that came."""
    old = messages.small(version="3.0.2")
    del old["messageHeader"]["tenantJiscID"]
    old["messageBody"] = {"objectUuid": old["messageBody"]["objectUUID"]}
    in_parts = {**old, "messageHeader": {**old["messageHeader"], "messageId": messages.draws.uuid4()}}
    parts = split(in_parts, limit=len(serialise(in_parts)) - 10, new_id=messages.draws.uuid4)
    assert len(parts) == 2
    for data in (serialise(old), *parts, serialise(old)):
        tapes.input.put(data)
    tapes.receive()
    received = [json.loads(data) for _, data, _ in tapes.arrivals()]
    assert [judge(data, joined=True).valid for _, data, _ in tapes.arrivals()] == [True, True]
    assert [message["messageHeader"]["version"] for message in received] == ["4.0.0", "4.0.0"]
    assert [count for _, _, count in tapes.arrivals()] == [1, 2]
    assert tapes.counted("duplicate") == 1


@pytest.mark.parametrize("version", RELEASES)
def test_a_message_of_an_older_version_that_cannot_be_upgraded_is_rejected_by_name(
    tapes: Tapes, messages: Messages, version: str
) -> None:
    """The reason names the version; what came is in the invalid queue as it came."""
    body = {"objectUuid": messages.draws.uuid4(), "objectResourceType": 10}
    tapes.input.put(serialise({**messages.small(version=version), "messageBody": body}))
    tapes.receive()
    assert tapes.arrivals() == []
    (rejected,) = tapes.rejected(Queue.INVALID)
    assert f"version {version} of the specification" in rejected["messageHeader"]["errorDescription"]
    assert rejected["messageBody"] == body


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 1, 1, 0, 2, 2, 0)])
def test_parts_that_share_a_message_id_are_joined_and_counted(
    tapes: Tapes, messages: Messages, order: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """As the specification's own code makes them: a part is known by its sequence and position."""
    parts = [json.loads(part) for part in messages.parts(4)]
    for part in parts:
        part["messageHeader"]["messageId"] = parts[0]["messageHeader"]["messageId"]
    for at in order:
        tapes.input.put(serialise(parts[at]))
    with caplog.at_level("WARNING"):
        tapes.receive()
    ((_, data, count),) = tapes.arrivals()
    assert (body_of(data), count) == (body_of(join([serialise(part) for part in parts])), 4)
    assert tapes.counted("duplicate") == len(order) - 4
    assert tapes.counted("shared messageId") == 3
    (said,) = [record.message for record in caplog.records]
    sequence = parts[0]["messageHeader"]["messageSequence"]["sequence"]
    assert said.startswith(f"sequence {sequence}: its parts share the messageId")
    assert tapes.rejected(Queue.INVALID) == []


def test_a_message_sent_anew_in_another_sequence_is_received_once(tapes: Tapes, messages: Messages) -> None:
    """Its first sequence stayed incomplete; the second has the same messageId, and a third comes too late."""
    parts, tries = [json.loads(part) for part in messages.parts(3)], []
    for _ in range(3):
        sequence = messages.draws.uuid4()
        for part in parts:
            part["messageHeader"]["messageId"] = parts[0]["messageHeader"]["messageId"]
            part["messageHeader"]["messageSequence"]["sequence"] = sequence
        tries.append([serialise(part) for part in parts])
    for part in (tries[0][0], *tries[1], tries[0][1], *tries[2]):
        tapes.input.put(part)
    tapes.receive()
    ((_, data, _),) = tapes.arrivals()
    assert body_of(data) == body_of(join(tries[1]))
    assert tapes.counted("duplicate") == 1 + len(tries[2])


def test_small_messages_of_this_test_are_valid(messages: Messages) -> None:
    """The messages that the other tests call good are so, and their parts give them back."""
    message = messages.small()
    assert judge(serialise(message)).valid
    parts = messages.parts(5)
    assert len(parts) == 5
    assert json.loads(body_of(join(parts))).keys() == {"objectUUID"}
