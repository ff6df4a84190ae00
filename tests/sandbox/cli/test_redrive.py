"""``sandbox redrive``: messages of the error queue, sent again by their ids."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from emulator.assembly.embedded import Embedded
from rdss_sandbox.client import Client
from rdss_sandbox.shapes.messages import NewMessage
from schemas.rdss.decoration import decorate
from schemas.rdss.envelope import serialise
from schemas.rdss.error_codes import ErrorCode
from schemas.rdss.samples import Samples
from tests.sandbox.cli.conftest import Ran


@pytest.fixture
def api(emulator: Embedded) -> Iterator[Client]:
    with Client(emulator.control) as client:
        yield client


def refuse(api: Client, data: bytes, sent_to: str | None) -> int:
    """Put a message into a stream, if one is named, and into the error queue; return its id there."""
    if sent_to:
        api.send(NewMessage(sent_to, data))
        api.messages()
    api.send(NewMessage("error", decorate(data, ErrorCode.GENERR008, "why", now=api.clock().time)))
    return api.messages(matching="stream:error").messages[-1].id


def read(api: Client, stream: str) -> list[dict[str, Any]]:
    rows = api.messages(matching=f"stream:{stream}").messages
    return [json.loads(api.message(row.id).raw or "")["messageHeader"] for row in rows]


def test_each_goes_back_where_it_came_from_or_where_it_is_told_to(
    api: Client, ask: Callable[..., Ran]
) -> None:
    """Without the error, and with a note in its history; an id that is not there ends it with its reason."""
    samples = Samples(3, now=api.clock().time)
    one, two = (refuse(api, serialise(samples.message()), stream) for stream in ("input", "output"))
    ran = ask("redrive", str(one), str(two))
    assert (ran.code, ran.out.count("\n"), ran.err) == (0, 2, "")
    assert ran.out.startswith(f"sent #{one} to input, shardId-")
    for stream in ("input", "output"):
        first, again = read(api, stream)
        assert again["messageId"] == first["messageId"]
        assert "errorCode" not in again
        assert again["messageHistory"][-1]["machineId"] == "rdss-sandbox-redrive"
    told = json.loads(ask("redrive", str(one), "--to", "output", "--json").out)
    assert told["stream"] == "output"
    ran = ask("redrive", "999")
    assert ran.code != 0
    assert "no message has the id 999" in ran.err


def test_one_without_an_origin_needs_a_name(api: Client, ask: Callable[..., Ran]) -> None:
    message = refuse(api, serialise(Samples(3, now=api.clock().time).message()), None)
    ran = ask("redrive", str(message))
    assert ran.code != 0
    assert f"message #{message} was in no stream that it could go back to" in ran.err
    assert ask("redrive", str(message), "--to", "input").code == 0


def test_an_edited_text_goes_in_its_place(api: Client, ask: Callable[..., Ran], tmp_path: Path) -> None:
    """It is for one message: a text that took the place of several would lose all but one."""
    samples = Samples(3, now=api.clock().time)
    message = refuse(api, b"{broken", "input")
    mended = samples.message()
    (tmp_path / "mended.json").write_bytes(serialise(mended))
    ran = ask("redrive", str(message), "--to", "input", "--edited", "mended.json")
    assert ran.code == 0, ran.err
    rows = api.messages(matching="stream:input").messages
    assert mended["messageHeader"]["messageId"] in {row.message_id for row in rows}
    ran = ask("redrive", "1", "2", "--edited", "mended.json")
    assert ran.code == 2
    assert "--edited is for one message" in ran.err
