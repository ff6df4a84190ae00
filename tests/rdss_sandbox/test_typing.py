"""What mypy makes of a program that calls the clients: results of one, coroutines of the other."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from rdss_sandbox import AsyncClient, Client, Fault, NewFault, NewMessage, Stream
from rdss_sandbox.shapes.messages import MessagePage
from rdss_sandbox.shapes.queues import Claim, NewClaim
from rdss_sandbox.shapes.topics import Downstream, TopicLink


def block(client: Client) -> None:
    assert_type(client.streams(), tuple[Stream, ...])
    assert_type(client.add_fault(NewFault("duplicate")), Fault)
    assert_type(client.messages(limit=5, matching="type:*"), MessagePage)
    assert_type(client.audit("bucket").messages(after=3), MessagePage)
    assert_type(client.queues.claim("rdss", "error", NewClaim("me")), Claim | None)
    assert_type(client.topics.point(Downstream(name="b", url="http://b")), tuple[TopicLink, ...])
    assert_type(client.export("code:GENERR*"), Iterator[bytes])
    assert_type(client.object("bucket", "key"), bytes)
    assert_type(client.last_event(), int)


async def wait(client: AsyncClient) -> None:
    assert_type(await client.streams(), tuple[Stream, ...])
    assert_type(await client.add_fault(NewFault("duplicate")), Fault)
    assert_type(await client.queues.claim("rdss", "error", NewClaim("me")), Claim | None)
    assert_type(client.export("code:GENERR*"), AsyncIterator[bytes])
    assert_type(await client.last_event(), int)


def err(client: Client) -> None:
    client.stream(3)
    client.send(NewFault("duplicate"))
    client.messages(10)
    client.messages(colour="blue")
    client.audit("attic")
    client.queues.claim("rdss", "error")
    client.nothing()
"""


@pytest.mark.slow
def test_calls_are_checked_with_their_precise_types(tmp_path: Path) -> None:
    """Under mypy strict, what is right passes, and each line of what is wrong is an error."""
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache"), str(program)]
    found = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False).stdout
    wrong = [int(line.split(":")[1]) for line in found.splitlines() if ": error:" in line]

    first = PROGRAM.splitlines().index("def err(client: Client) -> None:") + 2
    assert wrong == list(range(first, first + 7)), found
