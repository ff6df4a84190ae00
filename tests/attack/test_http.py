"""Attacks over HTTP/1.1: good clients on every port do not wait for them, and the process does not grow."""

from __future__ import annotations

import pytest

from rdss_sandbox.installed_extensions import list_ports
from tests.attack import http_attacks
from tests.attack.attacked_sandbox import AttackedSandbox, attack
from tests.attack.good_clients import assert_nobody_waited, watched
from tests.bench.load import Connection, put_records, rendered

PORTS = ("aws", "control", *dict(list_ports()))
SECONDS, MOST_BYTES = 1.0, 20_000_000


@pytest.mark.parametrize("port", PORTS)
def test_many_header_lines(sandbox: AttackedSandbox, port: str) -> None:
    """600,000 header lines in one request, three times at once."""
    with watched(sandbox) as seen:
        attack(http_attacks.header_lines, sandbox.ports[port], 600_000, processes=3)
    assert_nobody_waited(seen)
    assert sandbox.resident_megabytes() < 300


@pytest.mark.parametrize("port", ["aws", "queues"])
def test_long_headers_and_targets(sandbox: AttackedSandbox, port: str) -> None:
    """A header of 60 MB and a target of 25 MB."""
    sandbox.forget_peak()
    with watched(sandbox) as seen:
        attack(http_attacks.long_header, sandbox.ports[port], 60_000_000)
        attack(http_attacks.long_target, sandbox.ports[port], 25_000_000)
    assert_nobody_waited(seen)
    assert sandbox.peak_megabytes() < 300


@pytest.mark.parametrize("name", http_attacks.FLOODS)
def test_floods(sandbox: AttackedSandbox, name: str) -> None:
    """Much of what is small, as fast as it is taken."""
    sandbox.forget_peak()
    with watched(sandbox) as seen:
        attack(http_attacks.named_flood, sandbox.ports["aws"], name, SECONDS, MOST_BYTES)
    assert_nobody_waited(seen)
    assert sandbox.peak_megabytes() < 300


@pytest.mark.parametrize("port", PORTS)
def test_a_promise_of_a_body_costs_nothing(sandbox: AttackedSandbox, port: str) -> None:
    """150 connections promise 16 MiB each: 2.4 GB once."""
    before = sandbox.resident_megabytes()
    sandbox.forget_peak()
    with watched(sandbox) as seen:
        attack(http_attacks.promised_bodies, sandbox.ports[port], 150, SECONDS)
    assert_nobody_waited(seen)
    assert sandbox.peak_megabytes() < before + 30


def test_bodies_that_are_begun_are_bounded_together(fresh_sandbox: AttackedSandbox) -> None:
    """400 connections send 4 MB each of a body and then no more: what does not fit is refused."""
    with watched(fresh_sandbox) as seen:
        attack(http_attacks.begun_bodies, fresh_sandbox.ports["aws"], 400, 4_000_000)
    assert_nobody_waited(seen)
    assert fresh_sandbox.peak_megabytes() < 500


def test_many_connections(sandbox: AttackedSandbox) -> None:
    """900 connections that say nothing: those who were there before do not notice."""
    with watched(sandbox) as seen:
        attack(http_attacks.idle, sandbox.ports["control"], 900, SECONDS)
    assert_nobody_waited(seen)


def test_slow_readers_of_huge_answers(fresh_sandbox: AttackedSandbox) -> None:
    """Clients that ask for 4 MB five hundred times over, and read nothing, get no more than they read."""
    with Connection(fresh_sandbox.ports["aws"]) as connection:
        connection.call("CreateStream", {"StreamName": "huge", "ShardCount": 1})
        connection.send(put_records("huge", 100, 40_000))
        place = {"StreamName": "huge", "ShardId": "shardId-000000000000", "ShardIteratorType": "TRIM_HORIZON"}
        iterator = connection.call("GetShardIterator", place)["ShardIterator"]
    read = rendered("GetRecords", {"ShardIterator": iterator})
    with watched(fresh_sandbox) as seen:
        attack(http_attacks.slow_reader, fresh_sandbox.ports["aws"], read, 500, SECONDS, processes=3)
    assert_nobody_waited(seen)
    assert fresh_sandbox.peak_megabytes() < 300
