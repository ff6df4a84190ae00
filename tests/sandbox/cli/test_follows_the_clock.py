"""Commands that are pointed at a sandbox judge and wait by its clock, whatever is done to it meanwhile."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from emulator.clock import Clock
from emulator.rng import new_uuid
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.clock import ClockChange
from rdss_sandbox.text.timestamps import timestamp
from sandbox.adaptor.example.small_repository import SmallRepository, sample_deposits
from schemas.rdss.envelope import serialise
from schemas.rdss.samples import Samples
from schemas.rdss.sequence import split_raw
from tests.waiting import wait_until

Ask = Callable[..., Any]
HOUR = 3600.0
MACHINE = Clock()


def _now() -> float:
    return MACHINE.time()


@contextmanager
def _running(emulator: Embedded, *arguments: str) -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """A command that goes on until it is stopped, and the lines of JSON that it has printed so far."""
    printed = Path("printed.ndjson")
    command = [sys.executable, "-m", "sandbox", *arguments, "--json", "--control", emulator.control]
    with printed.open("wb") as out, subprocess.Popen(command, stdout=out) as process:
        try:
            yield lambda: [json.loads(line) for line in printed.read_text().splitlines()]
        finally:
            process.terminate()
            process.wait(60)


def _change(emulator: Embedded, action: Any, seconds: float | None = None) -> None:
    with Client(emulator.control) as control:
        control.change_clock(ClockChange(action, seconds=seconds))


def _send(ask: Ask, *messages: bytes) -> None:
    Path("some.ndjson").write_bytes(b"\n".join(messages))
    assert ask("send", "some.ndjson").code == 0


def _rejected(ask: Ask, queue: str) -> list[str]:
    """The error codes of what is new in a queue."""
    lines = ask("receive", "--channel", queue, "--json").out.splitlines()
    return [json.loads(line)["messageHeader"]["errorCode"] for line in lines]


def _message(message_type: str = "MetadataCreate", **timings: str) -> dict[str, Any]:
    message = Samples(7, now=_now()).message(message_type)
    message["messageHeader"]["messageTimings"] = {"publishedTimestamp": timestamp(_now()), **timings}
    return message


def test_a_message_expires_by_the_sandboxs_clock(emulator: Embedded, ask: Ask) -> None:
    """It expires in two hours; three hours on by the clock it is refused, though it is not yet by ours."""
    expires = timestamp(_now() + 2 * HOUR)
    _send(ask, serialise(_message(expirationTimestamp=expires)))
    _change(emulator, "advance", 3 * HOUR)

    assert ask("receive").out == ""
    assert _rejected(ask, "error") == ["GENERR003"]


def test_what_send_completes_is_dated_by_the_sandboxs_clock(emulator: Embedded, ask: Ask) -> None:
    """A body gets a header that is published when the sandbox's clock says that it is now."""
    _change(emulator, "advance", 100 * HOUR)
    Path("body.json").write_bytes(serialise(_message()["messageBody"]))
    assert ask("send", "body.json").code == 0

    (received,) = ask("receive", "--json").out.splitlines()
    published = json.loads(received)["messageHeader"]["messageTimings"]["publishedTimestamp"]
    assert datetime.fromisoformat(published).timestamp() - _now() > 99 * HOUR


def test_validate_judges_expiry_by_the_sandboxs_clock(emulator: Embedded, ask: Ask) -> None:
    """Valid now, and refused once the clock of the sandbox that it is pointed at is past it."""
    Path("one.json").write_bytes(serialise(_message(expirationTimestamp=timestamp(_now() + 2 * HOUR))))
    assert ask("message", "validate", "one.json", "--expired").code == 0
    _change(emulator, "advance", 3 * HOUR)
    refused = ask("message", "validate", "one.json", "--expired")
    assert (refused.code, refused.out.split()[0]) == (1, "GENERR003")


def test_a_sequence_is_given_up_by_the_sandboxs_clock(emulator: Embedded, ask: Ask) -> None:
    """Two of three parts came; a day and an hour on they are rejected, and said to be incomplete."""
    parts = split_raw(serialise(Samples(1, now=_now()).big_message(3)), new_id=new_uuid)
    _send(ask, *parts[:2])
    assert ask("receive").out == ""
    _change(emulator, "advance", 25 * HOUR)

    assert ask("receive").out == ""
    assert _rejected(ask, "invalid") == ["GENERR001"] * 2


@pytest.mark.slow
def test_a_running_application_retries_when_the_clock_is_advanced(emulator: Embedded, ask: Ask) -> None:
    """An update of an unknown object is tried a minute apart: minutes that pass on the clock are enough."""
    _send(ask, serialise(_message("MetadataUpdate")))

    def given_up() -> list[str]:
        _change(emulator, "advance", 61)
        return _rejected(ask, "invalid")

    with _running(emulator, "application", "run", "repository", "--asynchronous"):
        assert wait_until(given_up) == ["APPERRMET001"]


def test_messages_come_while_the_clock_stands_still(emulator: Embedded, ask: Ask) -> None:
    """A frozen clock freezes no reader: what is sent is received."""
    _change(emulator, "freeze")
    with _running(emulator, "receive", "--follow") as printed:
        _send(ask, serialise(_message()))
        assert len(wait_until(printed)) == 1


def test_an_adaptor_looks_again_when_the_clock_is_advanced(emulator: Embedded) -> None:
    """It looks once a day: a deposit is published a day later by the clock, at once for those who wait."""
    with SmallRepository(MACHINE).serving() as application:
        asked = ("adaptor", "run", "--source", application.url, "--interval", "86400")
        first, _confidential, second = sample_deposits()
        application.deposit(first)
        with _running(emulator, *asked) as printed:
            assert len(wait_until(printed)) == 1
            application.deposit(second)
            _change(emulator, "advance", 24 * HOUR)
            assert len(wait_until(lambda: printed()[1:])) == 1
