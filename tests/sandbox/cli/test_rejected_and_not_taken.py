"""What is rejected where its queue is not there, or does not take it: kept, and nobody waits for it."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from emulator.channels.kinesis import connect
from rdss_sandbox.client import Client
from rdss_sandbox.questions.conditions import read_condition, wait_for
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples

Ask = Callable[..., Any]
PATIENCE = 30.0


@pytest.fixture
def rejected(ask: Ask) -> str:
    """The id of a message in the input stream that belongs into the invalid queue."""
    Path("bad.json").write_bytes(Samples(1).bad(ErrorCode.GENERR004))
    return str(ask("send", "bad.json", "--as-is").out.split()[0])


def _taken(ask: Ask) -> int:
    """How many messages the invalid queue has got since the last time."""
    return len(ask("receive", "--channel", "invalid").out.splitlines())


def test_a_queue_that_is_not_there_is_told_and_not_waited_for(
    ask: Ask, emulator: Embedded, rejected: str
) -> None:
    """The command ends, the next one too, and the first that finds the queue fills it."""
    client = connect(emulator.aws)
    client.delete_stream(StreamName="invalid")
    first = ask("receive")
    assert first.code == 0
    told, counted, kept = first.err.splitlines()
    assert told.startswith(f"sandbox: GENERR004 keeps {rejected} for the queue invalid: ")
    assert counted == "sandbox: 1 rejected: 1 in invalid"
    assert kept == "sandbox: there is no stream 'invalid': what was rejected waits here for one"
    assert ask("receive").err == ""
    client.create_stream(StreamName="invalid", ShardCount=1)
    assert ask("receive").code == 0
    assert _taken(ask) == 1


def test_the_timeout_ends_the_tries_to_fill_a_queue(ask: Ask, rejected: str) -> None:
    """What the queue did not take is said, and the next receive puts it there."""
    ask("fault", "add", "throttle", "--channel", "invalid")
    ran = ask("receive", "--timeout", "1s")
    assert ran.code == 0
    assert rejected in ran.err
    assert "ProvisionedThroughputExceededException" in ran.err
    assert "what was rejected waits here for the next start" in ran.err
    ask("fault", "remove", "throttle")
    assert ask("receive").code == 0
    assert _taken(ask) == 1


def test_a_signal_ends_the_tries_to_fill_a_queue(ask: Ask, emulator: Embedded, rejected: str) -> None:
    """The first one: the message waits for the next receive."""
    ask("fault", "add", "throttle", "--channel", "invalid")
    struck = "fault throttle has struck 3 times"

    def interrupt() -> None:
        wait_for(read_condition(struck), lambda: Client(emulator.control), seconds=PATIENCE, wanted=struck)
        os.kill(os.getpid(), signal.SIGINT)

    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    interrupting = threading.Thread(target=interrupt)
    interrupting.start()
    ran = ask("receive", "--follow")
    interrupting.join()
    signal.signal(signal.SIGINT, usual)
    assert (ran.code, rejected in ran.err) == (130, True)
    ask("fault", "remove", "throttle")
    assert ask("receive").code == 0
    assert _taken(ask) == 1
