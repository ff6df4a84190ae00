"""Faults that strike invocations, as whoever invokes a function, or waits for its mapping, sees them."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectionClosedError
from msgspec.structs import replace

from emulator.assembly.embedded import embedded
from emulator.settings.settings import Settings
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.faults import NewFault
from tests.extensions.functions.conftest import Aws
from tests.extensions.functions.test_mappings import got, make_stream, settle
from tests.waiting import wait_until

COUNTS = """
calls = 0
def handler(event, context):
    global calls
    calls += 1
    print("got", calls)
    return calls
"""
RECORDS = """
import base64
def handler(event, context):
    print("got", *[base64.b64decode(each["kinesis"]["data"]).decode()[:1] for each in event["Records"]])
"""


@contextmanager
def struck(aws: Aws, fault: NewFault) -> Iterator[Client]:
    """A fault in force, put there by the control API, and removed at the end."""
    with Client(aws.emulator.control) as control:
        name = control.add_fault(fault).name
        try:
            yield control
        finally:
            control.remove_fault(name)


def on(function: str, type_: str, limit: int | None = None, **attributes: Any) -> NewFault:
    """A fault that strikes invocations of a function."""
    return NewFault(type_, channel=f"function:{function}", limit=limit, attributes=attributes)


def count(control: Client, type_: str) -> int:
    """How often the fault of a type has struck."""
    return next(each.injected for each in control.faults() if each.type == type_)


def test_an_error_is_one_of_the_service_and_nothing_is_invoked(aws: Aws) -> None:
    """The caller gets its code and status, twice, and then the answer."""
    aws.make("refused", COUNTS)
    with struck(aws, on("refused", "error", limit=2, code="ServiceException", status=400)) as control:
        for _ in range(2):
            with pytest.raises(ClientError, match="Injected by the fault engine") as refused:
                aws.invoke("refused")
            assert refused.value.response["Error"]["Code"] == "ServiceException"
        assert aws.invoke("refused") == (b"1", "")
        assert count(control, "error") == 2


def test_a_function_error_is_answered_as_the_handlers_own(aws: Aws) -> None:
    """Without written the handler does not run, and with it the work is done before."""
    aws.make("fails", COUNTS)
    with struck(aws, on("fails", "function_error", limit=1, error_type="KeyError", message="lost")):
        payload, error = aws.invoke("fails")
        assert (json.loads(payload), error) == (
            {"errorType": "KeyError", "errorMessage": "lost"},
            "Unhandled",
        )
    assert got(aws, "fails") == []
    with struck(aws, on("fails", "function_error", limit=1, written=True)):
        assert aws.invoke("fails")[1] == "Unhandled"
    assert got(aws, "fails") == ["1"]


def test_a_time_out_takes_its_time_and_the_next_start_is_cold(aws: Aws) -> None:
    """It is worded as AWS words it, and 900 seconds pass on the sandbox's clock alone."""
    aws.make("late", COUNTS, Timeout=900)
    assert aws.invoke("late") == (b"1", "")
    clock = aws.emulator.components.clock
    began, events = clock.elapsed(), aws.emulator.components.events
    with struck(aws, on("late", "timeout", limit=1)) as control:
        aws.lambda_.put_function_event_invoke_config(FunctionName="late", MaximumRetryAttempts=0)
        aws.lambda_.invoke(FunctionName="late", InvocationType="Event", Payload=b"{}")
        wait_until(lambda: count(control, "timeout") == 1)
        clock.advance(901)
        (told,) = [
            each for each in events.since() if each.fields.get("channel") == "late" and "did" in each.fields
        ]
        assert told.fields["did"] == "Task timed out after 900.00 seconds"
    assert clock.elapsed() - began >= 900
    wait_until(lambda: aws.invoke("late") == (b"1", ""))


def test_a_time_out_is_answered_in_the_words_of_lambda(aws: Aws) -> None:
    aws.make("words", COUNTS, Timeout=1)
    with struck(aws, on("words", "timeout", written=True)):
        payload, error = aws.invoke("words")
    assert error == "Unhandled"
    assert json.loads(payload)["errorType"] == "Sandbox.Timedout"
    assert json.loads(payload)["errorMessage"].endswith("Error: Task timed out after 1.00 seconds")
    assert got(aws, "words") == ["1"]


def test_a_throttled_invocation_is_refused_with_429(aws: Aws) -> None:
    aws.make("throttled", COUNTS)
    with (
        struck(aws, replace(on("throttled", "throttle"), when={"first": 1, "fails": 9})),
        pytest.raises(aws.lambda_.exceptions.TooManyRequestsException) as refused,
    ):
        aws.invoke("throttled")
    assert refused.value.response["ResponseMetadata"]["HTTPStatusCode"] == 429
    assert aws.invoke("throttled") == (b"1", "")


def test_a_cold_start_has_an_init_phase(aws: Aws) -> None:
    """The module is imported again, and REPORT has an Init Duration."""
    aws.make("cold", COUNTS)
    assert [aws.invoke("cold")[0] for _ in range(2)] == [b"1", b"2"]
    with struck(aws, on("cold", "cold_start", limit=1)):
        answer = aws.lambda_.invoke(FunctionName="cold", Payload=b"{}", LogType="Tail")
        assert answer["Payload"].read() == b"1"
        assert "Init Duration" in base64.b64decode(answer["LogResult"]).decode()
        assert aws.invoke("cold")[0] == b"2"


def test_a_connection_is_cut_without_an_answer(aws: Aws) -> None:
    aws.make("cut", COUNTS)
    with struck(aws, on("cut", "disconnect")), pytest.raises(ConnectionClosedError):
        aws.invoke("cut")


def test_latency_passes_on_the_sandboxes_clock_before_the_handler_runs(aws: Aws) -> None:
    aws.make("slowed", COUNTS)
    clock = aws.emulator.components.clock
    with struck(aws, on("slowed", "latency", limit=1, delay="1h", most="2h")) as control:
        aws.lambda_.invoke(FunctionName="slowed", InvocationType="Event", Payload=b"{}")
        wait_until(lambda: count(control, "latency") == 1)
        assert got(aws, "slowed") == []
        clock.advance(3600)
        wait_until(lambda: got(aws, "slowed") == ["1"])


def test_a_batch_of_a_mapping_is_delivered_twice(aws: Aws) -> None:
    """Both times with the same records, and the mapping goes on behind them once."""
    source = make_stream(aws, "twice", list("abc"))
    aws.make("twice", RECORDS)
    with struck(aws, on("twice", "duplicate", limit=1)):
        mapping = aws.lambda_.create_event_source_mapping(
            EventSourceArn=source, FunctionName="twice", StartingPosition="TRIM_HORIZON", BatchSize=3
        )
        wait_until(lambda: len(got(aws, "twice")) == 2)
    aws.client("kinesis").put_record(StreamName="twice", Data="d", PartitionKey="k")
    wait_until(lambda: got(aws, "twice") == ["a b c", "a b c", "d"])
    aws.lambda_.delete_event_source_mapping(UUID=settle(aws, mapping)["UUID"])


def test_a_mapping_tries_a_struck_batch_again_and_bisects_it(aws: Aws) -> None:
    """One message of four is chosen by its header, wherever in a batch it is; it alone is given up."""
    kinds = ["MetadataCreate", "MetadataRead", "MetadataUpdate", "MetadataDelete"]
    data = [json.dumps({"messageHeader": {"messageId": each, "messageType": each}}) for each in kinds]
    source = make_stream(aws, "chosen", data)
    aws.make("chosen", RECORDS.replace("[:1]", "[33:]"))
    when = {"match": {"messageType": "MetadataUpdate"}}
    with struck(aws, replace(on("chosen", "function_error"), when=when)) as control:
        mapping = aws.lambda_.create_event_source_mapping(
            EventSourceArn=source,
            FunctionName="chosen",
            StartingPosition="TRIM_HORIZON",
            BisectBatchOnFunctionError=True,
            MaximumRetryAttempts=0,
        )
        wait_until(lambda: "MetadataDelete" in " ".join(got(aws, "chosen")))
        seen = " ".join(got(aws, "chosen"))
        assert "MetadataUpdate" not in seen
        assert "MetadataCreate" in seen
        assert count(control, "function_error") == 3
    aws.lambda_.delete_event_source_mapping(UUID=settle(aws, mapping)["UUID"])


def test_one_seed_gives_one_sequence(aws: Aws) -> None:
    """The same invocations are struck again with the same seed, and others with another."""
    aws.make("seeded", COUNTS)
    engine = aws.emulator.components.fault_engine

    def draw(seed: int) -> list[bool]:
        engine.reseed(seed)
        with struck(aws, replace(on("seeded", "function_error"), toxicity=0.5)):
            return [bool(aws.invoke("seeded", b'{"n": %d}' % n)[1]) for n in range(24)]

    first, again, other = draw(7), draw(7), draw(8)
    assert first == again != other
    assert 4 < sum(first) < 20


def test_a_function_delivers_nothing_that_a_fault_could_strike(aws: Aws) -> None:
    """The refusal says which direction to give."""
    aws.make("delivers", COUNTS)
    said = "nothing is delivered by 'function:delivers', which is function: give the direction publish"
    with Client(aws.emulator.control) as control, pytest.raises(Exception, match=said):
        control.add_fault(NewFault("latency", channel="function:delivers", direction="deliver"))


def test_what_means_nothing_on_a_function_is_refused(aws: Aws) -> None:
    """A stream has no time-out, and a function no shards; the refusal says what the type is for."""
    aws.make("meant", COUNTS)
    engine = aws.emulator.components.fault_engine
    with Client(aws.emulator.control) as control:
        for type_, channel in (("reshard", "function:meant"), ("timeout", "kinesis:input")):
            with pytest.raises(Exception, match=f"{type_} means nothing on '{channel}'"):
                control.add_fault(NewFault(type_, channel=channel))
        added = control.add_fault(on("nobody", "timeout"))
        control.remove_fault(added.name)
    assert "there is no channel 'function:nobody' yet" in added.note
    assert engine.list() == ()


def test_settings_have_a_fault_in_force_from_the_start_and_after_a_reset() -> None:
    """Before there is a function of this name, and whatever is loaded of functions."""
    wanted = on("later", "cold_start")
    with (
        embedded(
            Settings(aws_port=0, control_port=0, data_dir=None, amqp="none", faults=(wanted,))
        ) as emulator,
        Client(emulator.control) as control,
    ):
        for _ in range(2):
            assert [(each.type, each.channel) for each in control.faults()] == [
                ("cold_start", "function:later")
            ]
            control.reset()
