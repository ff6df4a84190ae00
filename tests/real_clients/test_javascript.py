"""The AWS SDK for JavaScript v3, unmodified, with AWS_ENDPOINT_URL set."""

from __future__ import annotations

import json
import subprocess
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.real_clients.sandbox_process import Sandbox

pytestmark = pytest.mark.real_client

_FOLDER = Path(__file__).parent


def ran(program: str, sandbox: Sandbox, javascript: Path) -> dict[str, Any]:
    """What a program of this folder printed."""
    process = subprocess.run(
        ["node", _FOLDER / program],
        cwd=javascript,
        env={**sandbox.environment, "SANDBOX_CONTROL": sandbox.control},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert process.returncode == 0, process.stderr
    said: dict[str, Any] = json.loads(process.stdout)
    return said


def test_put_split_read_and_subscribe(sandbox: Sandbox, javascript: Path) -> None:
    """Every record once and in order over a split, polled and pushed, and errors by their names."""
    seen = ran("javascript_client.mjs", sandbox, javascript)
    before = [f"before-{i}" for i in range(20)]
    assert seen["failed"] == 0
    assert seen["parent"] == before
    assert sorted(seen["children"]) == sorted(f"after-{i}" for i in range(20))
    assert seen["pushed"] == before
    assert seen["childShards"] == 2
    assert seen["error"] == "ResourceNotFoundException"
    assert datetime.fromisoformat(seen["created"]).year >= 2026


def test_its_goaway_does_not_end_answers_under_way(sandbox: Sandbox, javascript: Path) -> None:
    """Answers over 65,535 bytes, and subscriptions through a split and for five minutes (RFC 9113 6.8)."""
    seen = ran("javascript_goaway.mjs", sandbox, javascript)
    sizes = [10_000, 65_536, 100_000, 656_000, 1_000_000]
    assert seen["read"] == [*([size] for size in sizes), sizes]
    first, both = seen["first"], seen["both"]
    assert (first["records"], first["bytes"], first["children"]) == (6, sum(sizes) + 100_000, 2)
    assert sum(each["records"] for each in both) == 16
    assert sum(each["bytes"] for each in both) == 16 * 50_000
    assert seen["living"]
    assert [each["error"] for each in (first, *both)] == [None, None, None]
