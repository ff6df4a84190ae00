"""The sentences that can be waited for, each false first and true then."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import closing
from typing import Any

import boto3
import pytest

from rdss_sandbox.client import Client
from rdss_sandbox.questions.conditions import (
    FORMS,
    ConditionNotMetError,
    ConditionReading,
    read_condition,
    wait_for,
)
from rdss_sandbox.testing import Sandbox

ID = "5680e8e0-28a5-4b20-948e-fd0d08781e2c"


def _ask(service: str, operation: str, **request: Any) -> Any:
    """One call of an AWS client that the environment points at the sandbox."""
    with closing(boto3.client(service)) as client:  # type: ignore[call-overload]
        return getattr(client, operation)(**request)


def _read(seeded: Sandbox) -> None:
    for shard in seeded.stream("input").shards():
        where = {"StreamName": "input", "ShardId": shard.id, "ShardIteratorType": "TRIM_HORIZON"}
        iterator = _ask("kinesis", "get_shard_iterator", **where)["ShardIterator"]
        _ask("kinesis", "get_records", ShardIterator=iterator)


def _reject(seeded: Sandbox) -> None:
    seeded.send({"messageHeader": {"messageId": ID, "errorCode": "GENERR004"}}, "error")


def _strike(seeded: Sandbox) -> None:
    seeded.faults.add("duplicate")
    seeded.send(["x"] * 3)


def _create(name: str) -> None:
    _ask("kinesis", "create_stream", StreamName=name, ShardCount=1)


CASES: dict[str, Callable[[Sandbox], object]] = {
    "stream input has 10 messages": lambda seeded: seeded.send(["x"] * 10),
    "Stream  new has no messages": lambda _kit: _create("new"),
    "stream input has at least 2 records": lambda seeded: seeded.send(["x"] * 3),
    "stream input has exactly 3 open shards": lambda seeded: seeded.reshard.split("input"),
    "stream output has at most 1 open shard": lambda seeded: seeded.reshard.merge("output"),
    "error queue has 1 message": _reject,
    f"message {ID} was rejected with GENERR004": _reject,
    f"message {ID} was rejected": _reject,
    "fault duplicate has struck 3 times": _strike,
    "bucket rdss-audit has 1 object": lambda _kit: _ask(
        "s3", "put_object", Bucket="rdss-audit", Key="k", Body=b""
    ),
}


@pytest.mark.parametrize("sentence", CASES)
def test_it_holds_when_it_has_happened_and_not_before(seeded: Sandbox, sentence: str) -> None:
    """Before it, the reading says what there is instead."""
    condition = read_condition(sentence)
    before = condition(seeded.client)
    assert not before.holds, before
    assert before.seen
    CASES[sentence](seeded)
    seeded.wait_until(sentence)


def test_what_was_read_and_what_happened(seeded: Sandbox) -> None:
    """Reads are counted by record; events from the first of the sandbox on."""
    seeded.send("x")
    read = read_condition("stream input has been read")
    assert read(seeded.client) == ConditionReading(holds=False, seen="1 message of stream input not read")
    _read(seeded)
    assert read(seeded.client).holds
    created = read_condition("event stream.created has happened 10000 times")(seeded.client)
    many = int(created.seen.rpartition("happened ")[2].split()[0])
    assert not read_condition(f"event stream.created has happened {many + 2} times")(seeded.client).holds
    _create("one")
    _create("two")
    assert read_condition(f"event stream.created has happened {many + 2} times")(seeded.client).holds


def test_every_form_has_an_example_that_it_reads() -> None:
    """Which are the ones that the help and the errors show."""
    for form in FORMS:
        assert form.pattern.fullmatch(form.example)
        assert read_condition(form.example)


def test_while_nobody_answers_it_does_not_hold(seeded: Sandbox) -> None:
    """A sandbox that is still starting is waited for; at the end it is said that none answered."""
    nobody = "http://127.0.0.1:1"
    urls = iter([nobody, nobody, seeded.control])
    ready = read_condition("the sandbox is ready")
    assert wait_for(ready, lambda: Client(next(urls)), seconds=30, wanted="it").holds
    with pytest.raises(ConditionNotMetError, match=re.escape(nobody)):
        wait_for(ready, lambda: Client(nobody), seconds=0, wanted="it")
