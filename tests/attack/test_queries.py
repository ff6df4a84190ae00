"""What people can ask for has an end: good clients on every port do not wait for it."""

from __future__ import annotations

import httpx
import pytest

from tests.attack import query_attacks
from tests.attack.attacked_sandbox import AttackedSandbox, attack
from tests.attack.good_clients import assert_nobody_waited, watched


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("^(a+)+$", "a" * 40 + "!"),
        ("^(a+)+$", "a" * 1_000_000 + "!"),
        ("(x+x+)+y", "x" * 100_000),
        ("(x?){300}y", "x" * 100_000),
        ("(a|b)*a(a|b){200}c", "ab" * 50_000),
    ],
    ids=["29 characters and more", "a megabyte", "nested", "many states", "more states"],
)
def test_a_spiteful_pattern(sandbox: AttackedSandbox, pattern: str, text: str) -> None:
    """29 characters took 15.8 s, and twice that with each further one."""
    with watched(sandbox) as seen:
        attack(query_attacks.patterns, sandbox.urls["topics"], pattern, text, 20)
    assert_nobody_waited(seen)


def test_filters_that_are_too_large(sandbox: AttackedSandbox) -> None:
    """Terms, conditions, levels, alternatives and repeats without end are 400, and quickly."""
    conditions = [" AND ".join(["/a = 1"] * 4000), "NOT " * 4000 + "/a = 1"]
    repeats = ["/a LIKE '(((a{100}){100}){100}){100}'", "/a LIKE '" + "(a?){400}" * 50 + "'"]
    with watched(sandbox) as seen:
        control = sandbox.urls["control"]
        attack(query_attacks.filters, control, "/messages", ["-a " * 4000, "type:" + "a," * 4000], 5)
        attack(query_attacks.filters, control, "/topics/records", conditions + repeats, 5)
    assert_nobody_waited(seen)


def test_faults_beyond_what_they_may_be(sandbox: AttackedSandbox) -> None:
    """None is added."""
    with watched(sandbox) as seen:
        attack(query_attacks.faults, sandbox.urls["control"], 3)
    assert_nobody_waited(seen)
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{sandbox.urls['control']}/faults").json()["faults"] == []


def test_as_many_copies_as_there_may_be(sandbox: AttackedSandbox) -> None:
    """A fault with a billion copies stopped the process for good; with a hundred everybody has a turn."""
    with watched(sandbox) as seen:
        attack(query_attacks.most_copies, sandbox.urls["control"], sandbox.urls["aws"], "copied")
    assert_nobody_waited(seen)


def test_many_subscriptions_by_patterns(sandbox: AttackedSandbox) -> None:
    """With 20,000 on one WebSocket a message took a second of everybody's; now most are refused."""
    with watched(sandbox) as seen:
        attack(query_attacks.many_subscriptions, sandbox.urls["topics"], 20_000, 10)
    assert_nobody_waited(seen)


def test_streams_of_very_many_shards(sandbox: AttackedSandbox) -> None:
    """To make one of 9,000 took a second of everybody's, and to halve their number 40."""
    with watched(sandbox) as seen:
        attack(query_attacks.many_shards, sandbox.urls["aws"], "crowded")
    assert_nobody_waited(seen)
