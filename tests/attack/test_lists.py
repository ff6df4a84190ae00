"""What holds very much, and very many who read it: good clients do not wait, and memory has an end."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

from emulator.clock import stopwatch
from tests.attack import list_attacks
from tests.attack.attacked_sandbox import AttackedSandbox, attack
from tests.attack.good_clients import assert_nobody_waited, watched

SECONDS: Final = 3.0
_MOST_MEGABYTES: Final = 600
"""Of a sandbox whose 200 clients read nothing. It was 977, and 5 MB more with each further client."""
_POLLS: Final = 400
_MOST_SECONDS: Final = 5.0
"""Until an object is put beside 400 long polls. It was 37 s, since they had all threads."""


@pytest.fixture(scope="module")
def broker_sandbox(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AttackedSandbox]:
    """A sandbox with its own broker behind the AMQP port."""
    with AttackedSandbox(
        Path(tmp_path_factory.mktemp("sandbox")), "--amqp", "embedded", "--amqp-port", "0"
    ) as running:
        running.await_amqp()
        yield running


@pytest.mark.parametrize("name", ["header_tables", "declared_tables"])
def test_tables_as_large_as_a_frame(broker_sandbox: AttackedSandbox, name: str) -> None:
    """Twelve thousand headers of a message, or arguments of a queue."""
    with watched(broker_sandbox) as seen:
        attack(getattr(list_attacks, name), broker_sandbox.urls["amqp"], SECONDS)
    assert_nobody_waited(seen)


def test_a_stream_of_ten_thousand_shards(sandbox: AttackedSandbox) -> None:
    """Made, described and listed by eight at once."""
    with watched(sandbox) as seen:
        attack(list_attacks.described_shards, sandbox.urls["aws"], "wide", 16)
    assert_nobody_waited(seen)


def test_answers_that_nobody_reads(fresh_sandbox: AttackedSandbox) -> None:
    """200 connections ask for the longest answer and read nothing of it."""
    with watched(fresh_sandbox) as seen:
        attack(list_attacks.unread_answers, fresh_sandbox.urls["aws"], "fat", 200, SECONDS)
    assert_nobody_waited(seen)
    assert fresh_sandbox.peak_megabytes() < _MOST_MEGABYTES


def test_long_polls_keep_nobody_from_the_other_services(sandbox: AttackedSandbox) -> None:
    """An object is put while 400 wait for a message that does not come."""
    s3 = list_attacks.client_of(sandbox.urls["aws"], "s3")
    s3.create_bucket(Bucket="beside")
    ended = threading.Event()

    def put() -> float:
        longest = 0.0
        while not ended.wait(0.05):
            began = stopwatch()
            s3.put_object(Bucket="beside", Key="k", Body=b"x")
            longest = max(longest, stopwatch() - began)
        return longest

    with ThreadPoolExecutor(1) as putting:
        longest = putting.submit(put)
        try:
            attack(list_attacks.long_polls, sandbox.urls["aws"], "polled", _POLLS, SECONDS)
        finally:
            ended.set()
        assert longest.result() < _MOST_SECONDS
